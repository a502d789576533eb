"""A policy's required labels against one set of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from webhook.admission.verdict import CauseReason, Fault
from webhook.admission.wording import shown
from webhook.policy import wording
from webhook.policy.model import Policy, RequiredLabel

__all__ = ["Place", "broken_rules"]


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
    """Return the rules that `labels` break, in the policy's order.

    `before` are the labels that an update replaces: a rule that they broke already is not held against it.
    """
    return tuple(
        _fault(index, rule, labels.get(rule.key), place)
        for index, rule in enumerate(policy.required_labels)
        if not rule.accepts(labels.get(rule.key)) and (before is None or rule.accepts(before.get(rule.key)))
    )


def _fault(index: int, rule: RequiredLabel, value: str | None, place: Place) -> Fault:
    field = wording.label_field(place.path, rule.key)
    found = wording.IS_MISSING if value is None else wording.IS.format(value=shown(value))
    return Fault(
        action=rule.action,
        rule=f"spec.requiredLabels[{index}]",
        summary=wording.LABEL_SUMMARY.format(
            introduction=wording.introduction(rule), field=field, found=found, within=place.within
        ),
        remedy=wording.LABEL_REMEDY.format(
            allowed=wording.allowed_values(rule), mend=place.remedy(field, rule.key)
        ),
        field=field,
        reason=_reason(rule, value),
    )


def _reason(rule: RequiredLabel, value: str | None) -> CauseReason:
    if value is None:
        return "FieldValueRequired"
    return "FieldValueNotSupported" if rule.allowed_values else "FieldValueInvalid"
