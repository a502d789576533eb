from __future__ import annotations

import pytest
from msgspec.structs import replace

from webhook.admission.patch import Add
from webhook.admission.verdict import Fault, Verdict, softened
from webhook.policy.model import Action

FAULT = Fault(
    action="Deny",
    rule="spec.requiredLabels[0]",
    summary="Pod must have a label: metadata.labels.a is missing",
    remedy="Allowed: any value. Set it",
    field="metadata.labels.a",
    reason="FieldValueRequired",
)


def faults(*actions: Action) -> tuple[Fault, ...]:
    return tuple(replace(FAULT, action=action) for action in actions)


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict(policy="p"), "allow"),
        (Verdict(policy="p", notes=("too broad",)), "allow"),
        (Verdict(policy="p", exempt_by="spec.exempt.users"), "allow"),
        (Verdict(policy="p", patch=(Add(path="/a", value=1),)), "mutate"),
        (Verdict(policy="p", faults=faults("Audit")), "audit"),
        (Verdict(policy="p", faults=faults("Audit", "Warn")), "warn"),
        (Verdict(policy="p", faults=faults("Warn", "Deny", "Audit")), "deny"),
    ],
)
def test_outcome_is_the_strongest(verdict: Verdict, outcome: str) -> None:
    assert verdict.outcome == outcome
    assert verdict.allowed == (outcome != "deny")
    assert verdict.audit_annotations["verdict"] == outcome


def test_softening_leaves_weaker_actions() -> None:
    assert [fault.action for fault in softened(faults("Deny", "Warn", "Audit"))] == ["Warn", "Warn", "Audit"]


def test_rule_is_told_once_however_often_it_is_broken() -> None:
    assert Verdict(policy="p", faults=faults("Deny", "Deny")).rule == "spec.requiredLabels[0]"


def test_same_warning_is_told_once() -> None:
    assert Verdict(policy="p", faults=faults("Warn", "Warn"), notes=(FAULT.summary,)).warnings == [
        FAULT.summary
    ]


def test_warnings_have_no_control_characters() -> None:
    # The API server drops a warning that has one.
    assert Verdict(policy="p", notes=("a\nb\x00c\x85",)).warnings == ["a b c "]


def test_warnings_keep_within_the_api_server_s_limits() -> None:
    warnings = Verdict(policy="p", notes=tuple(f"{number:03}" + "x" * 500 for number in range(100))).warnings

    assert [len(warning) for warning in warnings] == [256] * 16
    assert warnings[0].endswith("x…")
    assert warnings[15].startswith("015")
