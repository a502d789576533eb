"""What a decision comes to: broken rules, a patch, or nothing; its texts and numbers follow from these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from webhook.admission.patch import Add
from webhook.policy import wording
from webhook.policy.model import Action

__all__ = ["Cause", "CauseReason", "Fault", "Outcome", "Verdict", "softened"]

# "error" is for the server: a review that isn't one, or a fault of ours.
Outcome = Literal["allow", "deny", "warn", "audit", "mutate", "error"]
# metav1.CauseType
CauseReason = Literal[
    "FieldValueRequired", "FieldValueNotSupported", "FieldValueInvalid", "FieldValueForbidden"
]

# k8s.io/apiserver pkg/endpoints/filters/warning.go: past 4096 characters in total the API server cuts each
# warning at 256 and drops the rest; one with a control character is dropped whole.
_WARNINGS_LENGTH = 4096
_WARNING_LENGTH = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a Status's `details.causes`."""

    reason: CauseReason
    message: str
    field: str


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that an object breaks, and what comes of it.

    `rule` is the path in the policy. `summary` is the rule's message and what was found, short enough for a
    warning; `remedy` is what is allowed and how to mend it, without a full stop, as it may end in a command.
    """

    action: Action
    rule: str
    summary: str
    remedy: str
    field: str
    reason: CauseReason

    @property
    def message(self) -> str:
        """The whole text for the developer."""
        return wording.FAULT.format(summary=self.summary, remedy=self.remedy)


def softened(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the same faults, told as warnings where they would deny."""
    return tuple(replace(fault, action="Warn") if fault.action == "Deny" else fault for fault in faults)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one review under the policy named `policy`.

    `faults` are in the policy's order. `notes` are warnings without a broken rule. `exempt_by` is the path in the
    policy that exempts the request.
    """

    policy: str
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    patch: tuple[Add, ...] = ()
    exempt_by: str = ""

    @property
    def outcome(self) -> Outcome:
        """The strongest of what comes of the faults and the patch."""
        actions = {fault.action for fault in self.faults}
        if "Deny" in actions:
            return "deny"
        if self.patch:
            return "mutate"
        if "Warn" in actions:
            return "warn"
        return "audit" if actions else "allow"

    @property
    def allowed(self) -> bool:
        """Whether the request goes through."""
        return all(fault.action != "Deny" for fault in self.faults)

    @property
    def message(self) -> str:
        """The denial, in one line; empty for what is allowed."""
        return _one_line("; ".join(fault.message for fault in self.faults if fault.action == "Deny"))

    @property
    def rule(self) -> str:
        """The paths in the policy of all broken rules, or of what exempts the request."""
        return ",".join(dict.fromkeys(fault.rule for fault in self.faults)) or self.exempt_by

    @property
    def warnings(self) -> list[str]:
        """What the user is told beside the answer, within the API server's limits."""
        told = (fault.summary for fault in self.faults if fault.action == "Warn")
        return _within_limits([*told, *self.notes])

    @property
    def causes(self) -> list[Cause]:
        """The faults behind a denial, a field each."""
        return [
            Cause(reason=fault.reason, message=_one_line(fault.message), field=fault.field)
            for fault in self.faults
            if fault.action == "Deny"
        ]

    @property
    def audit_annotations(self) -> dict[str, str]:
        """What the API server's audit log keeps; it puts the webhook's name before each key."""
        annotations: dict[str, str] = {"verdict": self.outcome, "policy": self.policy}
        if rule := self.rule:
            annotations["rule"] = rule
        return annotations


def _one_line(text: str) -> str:
    return _CONTROL.sub(" ", text)


def _within_limits(warnings: Iterable[str]) -> list[str]:
    kept: list[str] = []
    room = _WARNINGS_LENGTH
    for warning in dict.fromkeys(_one_line(text) for text in warnings):
        text = warning if len(warning) <= _WARNING_LENGTH else f"{warning[: _WARNING_LENGTH - 1]}…"
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return kept
