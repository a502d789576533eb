"""A policy's required labels against one set of labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from webhook.admission.verdict import CauseReason, Fault
from webhook.admission.wording import shown
from webhook.policy.model import Policy, RequiredLabel

__all__ = ["Place", "broken_rules"]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN_VALUES = 10


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a set of labels stands, for the texts.

    `path` is the path of the labels, `within` is put behind it when it alone doesn't say whose they are, and
    `remedy` makes the closing sentence from a label's path and key.
    """

    path: str
    remedy: Callable[[str, str], str]
    within: str = ""


def broken_rules(
    policy: Policy, labels: Mapping[str, str], *, before: Mapping[str, str] | None, place: Place
) -> tuple[Fault, ...]:
    """The rules that `labels` break, in the policy's order.

    `before` are the labels that an update replaces: a rule that they broke already is not held against it.
    """
    return tuple(
        _fault(index, rule, labels.get(rule.key), place)
        for index, rule in enumerate(policy.required_labels)
        if not rule.accepts(labels.get(rule.key)) and (before is None or rule.accepts(before.get(rule.key)))
    )


def _fault(index: int, rule: RequiredLabel, value: str | None, place: Place) -> Fault:
    field = _child(place.path, rule.key)
    found = "is missing" if value is None else f"is {shown(value)}"
    joint = " " if rule.message.endswith((".", "!", "?", ":")) else ": "
    return Fault(
        action=rule.action,
        rule=f"spec.requiredLabels[{index}]",
        summary=f"{rule.message}{joint}{field} {found}{place.within}",
        remedy=f"Allowed: {_allowed(rule)}. {place.remedy(field, rule.key)}",
        field=field,
        reason=_reason(rule, value),
    )


def _child(path: str, key: str) -> str:
    # As the API server writes it: k8s.io/apimachinery pkg/util/validation/field Path.Key.
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{key}]"


def _allowed(rule: RequiredLabel) -> str:
    if rule.pattern:
        return f"a value that matches {rule.pattern.text}"
    if not rule.allowed_values:
        return "any value"
    shown_values = ", ".join(map(_value, rule.allowed_values[:_SHOWN_VALUES]))
    more = len(rule.allowed_values) - _SHOWN_VALUES
    return f"{shown_values} and {more} more" if more > 0 else shown_values


def _value(value: str) -> str:
    return value or '""'


def _reason(rule: RequiredLabel, value: str | None) -> CauseReason:
    if value is None:
        return "FieldValueRequired"
    return "FieldValueNotSupported" if rule.allowed_values else "FieldValueInvalid"
