from __future__ import annotations

from typing import Any

import pytest

from tests.admission.reviews import pod, review, workload
from webhook.admission.validate import validate
from webhook.policy.model import Exempt, Policy

POLICY = Policy(name="default")
PROBE = "custom-scheduler-probe"
ANNOTATIONS = {"custom-scheduler.io/probe": "a1b2"}


def probe(**request: Any) -> Any:
    return review(pod({"custom": "web"}, annotations=ANNOTATIONS), **{"namespace": PROBE, **request})


def test_a_probe_is_denied_although_it_keeps_every_rule_and_its_nonce_comes_back() -> None:
    verdict = validate(probe(), POLICY)

    assert verdict.outcome == "deny"
    assert verdict.message == (
        'custom-scheduler answers probe "a1b2". '
        "Nothing is wrong: custom-scheduler doctor --prove asked for this denial"
    )
    assert verdict.rule == "probe"


def test_no_exemption_and_no_policy_spares_a_probe() -> None:
    exempt = Exempt(namespaces=frozenset({PROBE}), users=frozenset({"admin"}), groups=frozenset({"admins"}))
    lenient = Policy(name="default", required_labels=(), exempt=exempt)

    verdict = validate(probe(userInfo={"username": "admin", "groups": ["admins"]}), lenient)

    assert not verdict.allowed


@pytest.mark.parametrize(
    "other",
    [
        probe(namespace="team-a"),
        probe(operation="DELETE"),
        probe(subResource="status"),
        review(pod({"custom": "web"}), namespace=PROBE),
        review(workload("Deployment", {"custom": "web"}, annotations=ANNOTATIONS), namespace=PROBE),
    ],
    ids=["elsewhere", "a deletion", "a subresource", "without the annotation", "no pod"],
)
def test_what_is_no_probe_is_judged_as_ever(other: Any) -> None:
    assert validate(other, POLICY).allowed


def test_a_nonce_can_not_fill_the_answer() -> None:
    huge = {"custom-scheduler.io/probe": "x" * 10_000 + "\n"}

    verdict = validate(review(pod(annotations=huge), namespace=PROBE), POLICY)

    assert len(verdict.message) < 300
