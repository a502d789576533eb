"""An authority that is not ours, and a Secret with a pair of it as cert-manager makes one."""

from __future__ import annotations

import base64

import yaml

from devcluster.pki import Authority
from tests.chaos.installed import NAMESPACE

__all__ = ["Issuer", "serving_secret"]

_HOSTS = ("custom-scheduler.custom-scheduler.svc", "custom-scheduler.custom-scheduler.svc.cluster.local")


class Issuer(Authority):
    """A CA of somebody else."""


def serving_secret(issuer: Issuer) -> str:
    """Return the Secret that components/cert-manager mounts: tls.crt, tls.key and ca.crt."""
    pair = issuer.serving(_HOSTS)
    data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": issuer.certificate}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "custom-scheduler-serving", "namespace": NAMESPACE},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
    )
