"""What can be wrong with the CA, the policy, the rights, the binder and the labels."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial

from certs.authority import create_authority
from certs.clock import utc_now
from tests.inspect.installed import BINDER_LEASE, CONFIGURATIONS, NAMESPACE, REPLICA_LEASE, Json, Objects
from tests.inspect.planting import Ailment, changed, deleted, put

__all__ = ["OF_THE_REST"]

NAMESPACED = f"namespaces/{NAMESPACE}"
SECRET = f"/api/v1/{NAMESPACED}/secrets/custom-scheduler-ca"
POLICY = f"/api/v1/{NAMESPACED}/configmaps/custom-scheduler-policy"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PROBE = "/api/v1/namespaces/custom-scheduler-probe"
OWN = f"/api/v1/namespaces/{NAMESPACE}"
VALIDATING = CONFIGURATIONS["validating"]


def another_ca(item: Json) -> None:
    bundle = create_authority("custom-scheduler", utc_now()).bundle
    item["webhooks"][1]["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()


def no_ca(item: Json) -> None:
    item["data"] = {"ca.crt": base64.b64encode(b"nonsense").decode()}


def label(key: str, value: str) -> Callable[[Json], None]:
    return put("metadata", "labels", f"custom-scheduler.io/{key}", to=value)


def unlabelled(item: Json) -> None:
    del item["metadata"]["labels"]["custom-scheduler.io/enforce"]


def two_cas_gone(cluster: Objects) -> None:
    cluster.delete(SECRET)
    cluster.delete(REPLICA_LEASE)
    for path in CONFIGURATIONS.values():
        cluster.change(path, without_bundle)


def without_bundle(item: Json) -> None:
    for entry in item["webhooks"]:
        entry["clientConfig"].pop("caBundle", None)


LONG_AGO = "2026-01-01T00:00:00.000000Z"
OF_THE_REST = [
    Ailment(
        "no CA in the Secret",
        partial(changed, SECRET, no_ca),
        "fail",
        "CA",
        "custom-scheduler-ca",
        "kubectl logs",
    ),
    Ailment(
        "no Secret, and replicas",
        partial(deleted, SECRET),
        "fail",
        "CA",
        "is gone, and replicas serve a CA of their own",
        "kubectl logs",
    ),
    Ailment(
        "nothing of a CA",
        two_cas_gone,
        "fail",
        "caBundle",
        "and no CA in Secret custom-scheduler-ca is served",
        "start the webhook",
    ),
    Ailment(
        "another CA in caBundle",
        partial(changed, VALIDATING, another_ca),
        "fail",
        "caBundle",
        "warn.pods.custom-scheduler.io: the API server refuses our certificate",
        "kubectl logs",
    ),
    Ailment(
        "another CA served",
        partial(
            changed, REPLICA_LEASE, put("metadata", "annotations", "custom-scheduler.io/ca", to="f" * 64)
        ),
        "fail",
        "served",
        "replica a tells that it serves CA ffffffffffffffff…",
        "kubectl delete lease",
    ),
    Ailment(
        "no policy",
        partial(deleted, POLICY),
        "fail",
        "policy",
        "custom-scheduler-policy: not found; running webhooks",
        "kubectl apply -k",
    ),
    Ailment(
        "a bad policy",
        partial(changed, POLICY, put("data", "policy.yaml", to="kind: Nonsense\n")),
        "fail",
        "policy",
        "running webhooks keep the last good one",
        "policy validate",
    ),
    Ailment(
        "no right in the namespace",
        partial(deleted, f"{RBAC}/{NAMESPACED}/rolebindings/custom-scheduler"),
        "fail",
        "permissions",
        "ServiceAccount custom-scheduler/custom-scheduler may not get secrets custom-scheduler-ca",
        "apply the Roles",
    ),
    Ailment(
        "no right to bind",
        partial(deleted, f"{RBAC}/clusterrolebindings/custom-scheduler-binder"),
        "fail",
        "permissions",
        "ServiceAccount custom-scheduler/custom-scheduler-binder may not create pods/binding",
        "apply the Roles",
    ),
    Ailment(
        "no binder ever",
        partial(deleted, BINDER_LEASE),
        "fail",
        "binder",
        "no binder has ever run",
        "component=binder",
    ),
    Ailment(
        "a binder that has stopped",
        partial(changed, BINDER_LEASE, put("spec", "holderIdentity", to="")),
        "fail",
        "binder",
        "nobody holds Lease",
        "component=binder",
    ),
    Ailment(
        "a binder that was killed",
        partial(changed, BINDER_LEASE, put("spec", "renewTime", to=LONG_AGO)),
        "fail",
        "binder",
        "binder-a held Lease custom-scheduler/custom-scheduler until 2026-01-01T01:00:00Z, and nobody since",
        "component=binder",
    ),
    Ailment(
        "no probe",
        partial(changed, PROBE, unlabelled),
        "warn",
        "probe",
        "custom-scheduler-probe is not there, or not labelled",
        "manifests/probe",
    ),
    Ailment(
        "a mode that is none",
        partial(changed, OWN, label("enforce", "Deny")),
        "warn",
        "enforcement",
        "custom-scheduler.io/enforce=Deny, which means nothing",
        "kubectl label namespace custom-scheduler",
    ),
    Ailment(
        "a choice that is none",
        partial(changed, OWN, label("opt-in", "yes")),
        "warn",
        "enforcement",
        "custom-scheduler.io/opt-in=yes, which means nothing",
        "=true or false",
    ),
]
