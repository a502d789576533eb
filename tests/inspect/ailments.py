"""What can be wrong with an installation, and what doctor has to say to it; for a fake cluster and for a real one."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from certs.authority import create_authority
from certs.clock import utc_now
from tests.inspect.installed import (
    BINDER_LEASE,
    CONFIGURATIONS,
    NAMESPACE,
    REPLICA_LEASE,
    SLICE,
    Json,
    Objects,
)
from webhook.inspect.finding import Finding

__all__ = ["AILMENTS", "Ailment", "assert_told"]

NAMESPACED = f"namespaces/{NAMESPACE}"
SERVICE = f"/api/v1/{NAMESPACED}/services/custom-scheduler"
SECRET = f"/api/v1/{NAMESPACED}/secrets/custom-scheduler-ca"
POLICY = f"/api/v1/{NAMESPACED}/configmaps/custom-scheduler-policy"
DEPLOYMENT = f"/apis/apps/v1/{NAMESPACED}/deployments/custom-scheduler"
BUDGET = f"/apis/policy/v1/{NAMESPACED}/poddisruptionbudgets/custom-scheduler"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PROBE = "/api/v1/namespaces/custom-scheduler-probe"
OWN = f"/api/v1/namespaces/{NAMESPACE}"
VALIDATING = CONFIGURATIONS["validating"]


@dataclass(frozen=True)
class Ailment:
    """One thing that goes wrong, and the finding that tells of it."""

    name: str
    plant: Callable[[Objects], None]
    level: str
    subject: str
    text: str
    fix: str


def assert_told(ailment: Ailment, findings: Sequence[Finding]) -> None:
    """Hold that doctor names this ailment with what mends it, and finds nothing else wrong."""
    told = [
        each
        for each in findings
        if (each.level, each.subject) == (ailment.level, ailment.subject) and ailment.text in each.text
    ]
    assert told, findings
    assert all(ailment.fix in each.fix for each in told)
    assert {each.subject for each in findings if each.level != "ok"} <= {ailment.subject}


def changed(path: str, edit: Callable[[Json], None], cluster: Objects) -> None:
    cluster.change(path, edit)


def deleted(path: str, cluster: Objects) -> None:
    cluster.delete(path)


def put(*keys: str | int, to: object) -> Callable[[Json], None]:
    """Return an edit that sets what is found under these keys."""

    def edit(item: Json) -> None:
        place = item
        for key in keys[:-1]:
            place = place[key]  # type: ignore[index]  # a key of a dict or the index of a list
        place[keys[-1]] = to  # type: ignore[index]  # the same

    return edit


def another_ca(item: Json) -> None:
    bundle = create_authority("custom-scheduler", utc_now()).bundle
    item["webhooks"][1]["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()


def no_ca(item: Json) -> None:
    item["data"] = {"ca.crt": base64.b64encode(b"nonsense").decode()}


def call(key: str, value: object) -> Callable[[Json], None]:
    return put("webhooks", 0, "clientConfig", "service", key, to=value)


def by_url(item: Json) -> None:
    for entry in item["webhooks"]:
        entry["clientConfig"] = {
            "url": "https://example.com/wrong",
            "caBundle": entry["clientConfig"]["caBundle"],
        }


def one_less(item: Json) -> None:
    del item["webhooks"][-1]


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
AILMENTS = [
    Ailment(
        "no configuration",
        partial(deleted, VALIDATING),
        "fail",
        "registration",
        "ValidatingWebhookConfiguration custom-scheduler is not there",
        "kubectl apply -k",
    ),
    Ailment(
        "an entry is missing",
        partial(changed, VALIDATING, one_less),
        "warn",
        "registration",
        "entries are missing: verify.namespaces.custom-scheduler.io",
        "apply the manifests again",
    ),
    Ailment(
        "another path",
        partial(changed, VALIDATING, call("path", "/validate/warn")),
        "fail",
        "registration",
        "deny.pods.custom-scheduler.io calls /validate/warn, and what it selects is meant for /validate",
        "kubectl apply -k",
    ),
    Ailment(
        "another path in a URL",
        partial(changed, CONFIGURATIONS["mutating"], by_url),
        "fail",
        "registration",
        "mutate.pods.custom-scheduler.io calls /wrong, and what it selects is meant for /mutate",
        "kubectl apply -k",
    ),
    Ailment(
        "a Service elsewhere",
        partial(changed, VALIDATING, call("namespace", "elsewhere")),
        "fail",
        "registration",
        "deny.pods.custom-scheduler.io calls Service elsewhere/custom-scheduler, not custom-scheduler/custom-scheduler",
        "give --namespace elsewhere",
    ),
    Ailment(
        "failurePolicy Fail",
        partial(changed, VALIDATING, put("webhooks", 0, "failurePolicy", to="Fail")),
        "ok",
        "failurePolicy",
        "Fail for deny.pods.custom-scheduler.io",
        "doctor --prove",
    ),
    Ailment(
        "no Service",
        partial(deleted, SERVICE),
        "fail",
        "endpoints",
        "Service custom-scheduler/custom-scheduler is not there",
        "kubectl apply -k",
    ),
    Ailment(
        "another port",
        partial(changed, SERVICE, put("spec", "ports", 0, "port", to=444)),
        "fail",
        "endpoints",
        "called at port 443, and Service custom-scheduler/custom-scheduler has 444",
        "kubectl apply -k",
    ),
    Ailment(
        "a target port that pods don't have",
        partial(changed, SLICE, put("ports", to=[])),
        "fail",
        "endpoints",
        "none listens on https, which port 443 leads to",
        "targetPort",
    ),
    Ailment(
        "no ready endpoint",
        partial(changed, SLICE, put("endpoints", to=[])),
        "fail",
        "endpoints",
        "no ready endpoints behind Service",
        "kubectl get pods",
    ),
    Ailment(
        "one ready endpoint",
        partial(changed, SLICE, put("endpoints", 0, "conditions", "ready", to=False)),
        "warn",
        "endpoints",
        "only one ready endpoint",
        "kubectl get pods",
    ),
    Ailment(
        "no Deployment",
        partial(deleted, DEPLOYMENT),
        "fail",
        "replicas",
        "Deployment custom-scheduler/custom-scheduler is not there",
        "kubectl apply -k",
    ),
    Ailment(
        "scaled to 0",
        partial(changed, DEPLOYMENT, put("spec", "replicas", to=0)),
        "fail",
        "replicas",
        "Deployment custom-scheduler/custom-scheduler is scaled to 0",
        "kubectl scale",
    ),
    Ailment(
        "one replica of two",
        partial(changed, DEPLOYMENT, put("status", "readyReplicas", to=1)),
        "warn",
        "replicas",
        "1 of 2 replicas of Deployment custom-scheduler/custom-scheduler",
        "component=webhook",
    ),
    Ailment(
        "no replica of the binder",
        partial(changed, f"{DEPLOYMENT}-binder", put("status", "readyReplicas", to=0)),
        "fail",
        "replicas",
        "0 of 2 replicas of Deployment custom-scheduler/custom-scheduler-binder",
        "component=binder",
    ),
    Ailment(
        "no budget",
        partial(deleted, BUDGET),
        "warn",
        "disruptions",
        "no PodDisruptionBudget covers the webhook's pods",
        "kubectl apply -k",
    ),
    Ailment(
        "a budget for other pods",
        partial(changed, BUDGET, put("spec", "selector", "matchLabels", to={"app": "other"})),
        "warn",
        "disruptions",
        "no PodDisruptionBudget covers the webhook's pods",
        "kubectl apply -k",
    ),
    Ailment(
        "a budget without room",
        partial(changed, BUDGET, put("status", "disruptionsAllowed", to=0)),
        "warn",
        "disruptions",
        "allows no eviction though all replicas are ready",
        "minAvailable",
    ),
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
        "and there is no Secret custom-scheduler-ca",
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
        "no policy", partial(deleted, POLICY), "fail", "policy", "custom-scheduler-policy", "policy validate"
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
