"""Which nodes a pod's required node affinity admits: written from the API's documentation, over plain JSON."""

from __future__ import annotations

from typing import Any

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def admits(pod: dict[str, Any], name: str, labels: dict[str, str]) -> bool:
    """Whether the pod may run on the node of that name and labels, as far as node affinity goes."""
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    required = (affinity.get("nodeAffinity") or {}).get(REQUIRED)
    if required is None:
        return True
    return any(_term(term, name, labels) for term in required.get("nodeSelectorTerms") or [])


def meets(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a node's labels meet one expression."""
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    if value is None or not value.isdecimal():
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def _term(term: dict[str, Any], name: str, labels: dict[str, str]) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(meets(expression, labels) for expression in expressions) and all(
        meets(field, {"metadata.name": name}) for field in fields
    )
