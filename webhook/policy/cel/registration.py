"""Which requests the exported policies see: the same as the shipped webhook configurations' entries.

The selectors exclude every namespace that the policy exempts, where the webhook's exclude the two that always are
and its server the others.
"""

from __future__ import annotations

from typing import Any

from webhook.policy.model import Policy
from webhook.policy.names import DECLINED, ENFORCE_LABEL, OPT_IN_LABEL, OPTED_IN

__all__ = [
    "DENY",
    "ENFORCED",
    "NEW_PODS",
    "NOT_ENFORCED_PODS",
    "OPTED_IN_NAMESPACES",
    "OPTED_IN_PODS",
    "PODS",
    "UNDECIDED_PODS",
    "WARN",
    "WORKLOADS",
    "Json",
    "Selection",
    "match_constraints",
    "match_resources",
]

Json = dict[str, Any]

_NAMESPACE_NAME = "kubernetes.io/metadata.name"


class Selection:
    """Requirements on the labels of a request's namespace and of its object."""

    def __init__(self, *, namespace: list[Json] | None = None, pod: list[Json] | None = None) -> None:
        self.namespace = namespace or []
        self.pod = pod or []


def _in(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}


def _not_in(key: str, *values: str) -> Json:
    return {"key": key, "operator": "NotIn", "values": list(values)}


DENY = Selection(namespace=[_in(ENFORCE_LABEL, "deny")])
WARN = Selection(namespace=[_in(ENFORCE_LABEL, "warn")])
ENFORCED = Selection(namespace=[_in(ENFORCE_LABEL, "deny", "warn")])
OPTED_IN_PODS = Selection(pod=[_in(OPT_IN_LABEL, OPTED_IN)])
OPTED_IN_NAMESPACES = Selection(
    namespace=[_in(OPT_IN_LABEL, OPTED_IN)], pod=[_not_in(OPT_IN_LABEL, DECLINED)]
)
# Where a namespace is enforced, the policies on labels check the final state of pods that opted in themselves.
NOT_ENFORCED_PODS = Selection(
    namespace=[_not_in(ENFORCE_LABEL, "deny", "warn")], pod=[_in(OPT_IN_LABEL, OPTED_IN)]
)
UNDECIDED_PODS = Selection(
    namespace=[_in(OPT_IN_LABEL, OPTED_IN)], pod=[_not_in(OPT_IN_LABEL, OPTED_IN, DECLINED)]
)


def _rule(group: str, *resources: str, operations: tuple[str, ...] = ("CREATE", "UPDATE")) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": list(resources),
        "operations": list(operations),
        "scope": "Namespaced",
    }


NEW_PODS = [_rule("", "pods", operations=("CREATE",))]
PODS = [_rule("", "pods")]
WORKLOADS = [
    _rule("apps", "deployments", "replicasets", "statefulsets", "daemonsets"),
    _rule("batch", "jobs", "cronjobs"),
    _rule("", "replicationcontrollers"),
]


def match_constraints(rules: list[Json]) -> Json:
    """A policy's `matchConstraints`."""
    return {"matchPolicy": "Equivalent", "resourceRules": rules}


def match_resources(selection: Selection, policy: Policy) -> Json:
    """A binding's `matchResources`."""
    not_exempt = _not_in(_NAMESPACE_NAME, *sorted(policy.exempt.namespaces))
    resources: Json = {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [*selection.namespace, not_exempt]},
    }
    if selection.pod:
        resources["objectSelector"] = {"matchExpressions": selection.pod}
    return resources
