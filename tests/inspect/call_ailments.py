"""What can be wrong on the way of a call, from the configurations to the pods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.inspect.installed import CONFIGURATIONS, NAMESPACE, SLICE, Json
from tests.inspect.planting import Ailment, changed, deleted, put

__all__ = ["OF_CALLS"]

NAMESPACED = f"namespaces/{NAMESPACE}"
SERVICE = f"/api/v1/{NAMESPACED}/services/custom-scheduler"
DEPLOYMENT = f"/apis/apps/v1/{NAMESPACED}/deployments/custom-scheduler"
BUDGET = f"/apis/policy/v1/{NAMESPACED}/poddisruptionbudgets/custom-scheduler"
VALIDATING = CONFIGURATIONS["validating"]


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


def ready(number: int) -> Callable[[Json], None]:
    """Return an edit of a Deployment after which so many replicas are ready."""

    def edit(item: Json) -> None:
        # The API server takes no more available replicas than ready ones.
        item["status"] |= {"readyReplicas": number, "availableReplicas": number}

    return edit


def selecting(namespace: str) -> Callable[[Json], None]:
    """Return an edit after which the first entry doesn't leave this namespace out."""

    def edit(item: Json) -> None:
        for requirement in item["webhooks"][0]["namespaceSelector"]["matchExpressions"]:
            if requirement["key"] == "kubernetes.io/metadata.name":
                requirement["values"].remove(namespace)
        item["webhooks"][0]["namespaceSelector"]["matchExpressions"].pop(0)

    return edit


def closed(item: Json) -> None:
    selecting(NAMESPACE)(item)
    item["webhooks"][0]["failurePolicy"] = "Fail"


OF_CALLS = [
    Ailment(
        "its own namespace selected",
        partial(changed, VALIDATING, selecting(NAMESPACE)),
        "warn",
        "selection",
        "namespace custom-scheduler is selected by deny.pods.custom-scheduler.io: its pods wait for our answer",
        "operator NotIn, values [kube-system, custom-scheduler]",
    ),
    Ailment(
        "kube-system selected",
        partial(changed, VALIDATING, selecting("kube-system")),
        "warn",
        "selection",
        "namespace kube-system is selected by deny.pods.custom-scheduler.io",
        "operator NotIn, values [kube-system, custom-scheduler]",
    ),
    Ailment(
        "its own namespace selected, and failing closed",
        partial(changed, VALIDATING, closed),
        "fail",
        "selection",
        "while none of us runs, none of its pods can start",
        "operator NotIn, values [kube-system, custom-scheduler]",
    ),
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
        partial(changed, DEPLOYMENT, ready(1)),
        "warn",
        "replicas",
        "1 of 2 replicas of Deployment custom-scheduler/custom-scheduler",
        "component=webhook",
    ),
    Ailment(
        "no replica of the binder",
        partial(changed, f"{DEPLOYMENT}-binder", ready(0)),
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
]
