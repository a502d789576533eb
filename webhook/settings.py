"""What a process was told at start: parsed once, checked once, passed down."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal

import msgspec

from webhook.errors import ConfigurationError

__all__ = [
    "DEFAULT_NAMESPACE",
    "BinderSettings",
    "CertMode",
    "ExtenderSettings",
    "OpsSettings",
    "ServeSettings",
    "ServerSettings",
    "TlsVersion",
    "own_namespace",
]

CertMode = Literal["self-signed", "files"]

TlsVersion = Literal["1.2", "1.3"]

DEFAULT_NAMESPACE = "custom-scheduler"
# k8s.io/apimachinery pkg/util/validation IsDNS1123Label
_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IN_CLUSTER_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def own_namespace(given: str | None, *, in_cluster: Path = _IN_CLUSTER_NAMESPACE) -> str:
    """Return the namespace this process runs in: as given, else the pod's own, else `custom-scheduler`.

    Raises ConfigurationError for what is no name: it would become part of the paths that we ask the API server for.
    """
    if given:
        if not _LABEL.fullmatch(given):
            raise ConfigurationError(
                f"--namespace {given}: not a namespace's name; expected at most 63 of a-z, 0-9 and -"
            )
        return given
    try:
        return in_cluster.read_text().strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE


class OpsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ops port is."""

    ops_host: str = "0.0.0.0"  # noqa: S104 (the kubelet probes the pod's address)
    ops_port: int = 8080
    """0 takes a free port, and so it does for the TLS port."""


class ServerSettings(OpsSettings, frozen=True, kw_only=True):
    """Settings of a server on a TLS port: its address, what it speaks, its size and how it stops."""

    host: str = "0.0.0.0"  # noqa: S104 (the API server calls the pod's address)
    port: int = 8443
    tls_min_version: TlsVersion = "1.3"
    workers: int = 1
    threads: int = 32
    """Requests that one worker works on at once. Idle connections and half-sent heads need no thread."""
    drain_seconds: float = 10.0
    """How long requests are still answered after SIGTERM, while readiness fails."""

    def __post_init__(self) -> None:
        """Refuse what is no number: no comparison with NaN holds, so no range of an option keeps it out.

        Raises ConfigurationError.
        """
        for field in msgspec.structs.fields(type(self)):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigurationError(f"--{field.name.replace('_', '-')} is {value}: give a number")


class BinderSettings(OpsSettings, frozen=True, kw_only=True):
    """Settings of the scheduler, alone or beside the webhook."""

    namespace: str
    kubeconfig: Path | None = None
    scheduler_config: Path | None = None


class ExtenderSettings(ServerSettings, frozen=True, kw_only=True):
    """Settings of the server that kube-scheduler calls."""

    tls_cert: Path
    tls_key: Path
    client_ca: Path
    kubeconfig: Path | None = None
    scheduler_config: Path | None = None
    profile: str | None = None
    """None: the first of the configuration."""
    best_score: int = 10


class ServeSettings(ServerSettings, frozen=True, kw_only=True):
    """Settings of the admission server.

    Build it with `checked`, which holds the rules between the settings.
    """

    policy: Path
    namespace: str
    cert_mode: CertMode = "self-signed"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    ca_settle_seconds: float = 60.0
    leaf_hours: float = 168.0
    replica: str | None = None
    pod_uid: str | None = None
    kubeconfig: Path | None = None
    offline: bool = False
    binder: bool = True
    scheduler_config: Path | None = None

    @classmethod
    def checked(cls, *, cert_mode: CertMode | None, binder: bool | None, **others: object) -> ServeSettings:
        """Return the settings with their defaults derived from each other.

        `cert_mode` None: files where a pair is given, else self-signed. `binder` None: if there is a cluster.
        Raises ConfigurationError where two settings contradict each other.
        """
        given = msgspec.convert(
            {**others, "cert_mode": cert_mode or "self-signed", "binder": bool(binder)}, cls, strict=True
        )
        has_pair = given.tls_cert is not None and given.tls_key is not None
        if (given.tls_cert is None) != (given.tls_key is None):
            raise ConfigurationError("--tls-cert and --tls-key go together: give both or neither")
        if has_pair and cert_mode == "self-signed":
            raise ConfigurationError(
                "--cert-mode self-signed makes its own pair: drop --tls-cert and --tls-key, or use files"
            )
        if cert_mode == "files" and not has_pair:
            raise ConfigurationError("--cert-mode files needs --tls-cert and --tls-key")
        if given.offline and not has_pair:
            raise ConfigurationError(
                "--offline has no cluster to keep a certificate authority in: give --tls-cert and --tls-key"
            )
        if given.offline and binder:
            raise ConfigurationError("--offline has no cluster to place pods in: drop --binder")
        return msgspec.structs.replace(
            given,
            cert_mode="files" if has_pair else "self-signed",
            binder=not given.offline if binder is None else binder,
        )
