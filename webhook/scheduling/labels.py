"""Whether one set of labels satisfies a label selector (`metav1.LabelSelector`)."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.scheduling.objects import LabelSelector, LabelSelectorRequirement

__all__ = ["matches"]


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold; an empty selector matches everything."""
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    return all(_holds(requirement, labels) for requirement in selector.match_expressions)


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            # The API server admits no other operator.
            return False
