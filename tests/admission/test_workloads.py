from __future__ import annotations

from typing import Any

import pytest

from tests.admission.reviews import Json, review, update, workload
from webhook.admission.objects import WORKLOADS
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.policy.model import Mode, Policy, RequiredLabel

KINDS = [kind for _, kind in WORKLOADS]
WARN = Policy(name="default")
DENY = Policy(name="default", workloads="Deny")


def path_of(kind: str) -> str:
    inside = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
    return f"{inside}.metadata.labels.custom"


def test_all_seven_kinds_are_judged() -> None:
    assert sorted(KINDS) == [
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Job",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_template_without_the_label_is_warned_of_with_its_path(kind: str) -> None:
    verdict = validate(review(workload(kind)), WARN)

    assert verdict.outcome == "warn"
    assert verdict.warnings == [f"Pod must have custom label: {path_of(kind)} is missing in {kind} web"]
    assert len(verdict.warnings[0]) <= 120


@pytest.mark.parametrize("kind", KINDS)
def test_template_without_the_label_is_denied_where_the_policy_says_so(kind: str) -> None:
    verdict = validate(review(workload(kind)), DENY)

    assert verdict.message == (
        f"Pod must have custom label: {path_of(kind)} is missing in {kind} web. Allowed: any value. "
        f"Set {path_of(kind)} in {kind} web"
    )
    assert [cause.field for cause in verdict.causes] == [path_of(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_template_with_the_label_is_allowed(kind: str) -> None:
    assert validate(review(workload(kind, {"custom": "a"})), DENY) == Verdict(policy="default")


def test_labels_of_the_workload_itself_don_t_count() -> None:
    assert not validate(review(workload("Deployment", labels={"custom": "a"})), DENY).allowed


@pytest.mark.parametrize(
    ("mode", "outcomes"),
    [
        ("Deny", ["deny", "warn", "audit"]),
        ("Warn", ["warn", "warn", "audit"]),
        ("Off", ["allow", "allow", "allow"]),
    ],
)
def test_mode_weakens_a_rule_and_never_strengthens_it(mode: Mode, outcomes: list[str]) -> None:
    asked = review(workload("Deployment"))

    assert [
        validate(
            asked,
            Policy(
                name="default", workloads=mode, required_labels=(RequiredLabel(key="custom", action=action),)
            ),
        ).outcome
        for action in ("Deny", "Warn", "Audit")
    ] == outcomes


def test_denied_template_can_be_warned_of_instead() -> None:
    verdict = as_warning(validate(review(workload("Deployment")), DENY))

    assert verdict.allowed
    assert verdict.warnings == [
        "Pod must have custom label: spec.template.metadata.labels.custom is missing in Deployment web"
    ]


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job", "StatefulSet"])
def test_workload_that_a_controller_manages_is_left_to_its_owner(kind: str) -> None:
    owner = {"apiVersion": "x", "kind": "Owner", "name": "o", "uid": "1"}

    managed = workload(kind, ownerReferences=[owner | {"controller": True}])
    merely_owned = workload(kind, ownerReferences=[owner, owner | {"controller": False}])

    assert validate(review(managed), DENY).outcome == "allow"
    assert validate(review(merely_owned), DENY).outcome == "deny"


@pytest.mark.parametrize("kind", KINDS)
def test_update_is_denied_only_if_it_newly_breaks_the_template(kind: str) -> None:
    good, bad = workload(kind, {"custom": "a"}), workload(kind)

    assert validate(update(good, bad), DENY).outcome == "deny"
    assert validate(update(bad, bad), DENY).outcome == "allow"
    assert validate(update(bad, good), DENY).outcome == "allow"
    assert validate(update(good, good), DENY).outcome == "allow"


def test_terminating_workload_is_let_go() -> None:
    bad = workload("Job", deletionTimestamp="2026-01-01T00:00:00Z")

    assert validate(update(workload("Job", {"custom": "a"}), bad), DENY).outcome == "allow"


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"template": None},
        {"jobTemplate": None},
        {"jobTemplate": {}},
        {"jobTemplate": {"spec": None}},
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_workload_without_a_template_is_left_to_the_api_server(kind: str, spec: Json | None) -> None:
    assert validate(review({"kind": kind, "metadata": {"name": "a"}, "spec": spec}), DENY).outcome == "allow"


def test_template_is_looked_for_where_the_kind_keeps_it() -> None:
    obj = workload("Deployment")
    obj["spec"]["jobTemplate"] = {"spec": {"template": {"metadata": {"labels": {"custom": "a"}}}}}

    assert validate(review(obj), DENY).outcome == "deny"


@pytest.mark.parametrize("metadata", [None, {}, {"labels": None}, {"creationTimestamp": None}])
def test_template_without_labels_is_judged(metadata: Json | None) -> None:
    obj: dict[str, Any] = {
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"template": {"metadata": metadata}},
    }

    assert validate(review(obj), DENY).outcome == "deny"


def test_workload_with_a_generated_name_is_named_by_its_prefix() -> None:
    obj = workload("Job")
    obj["metadata"] = {"generateName": "nightly-"}

    assert validate(review(obj), WARN).warnings[0].endswith("is missing in Job nightly-*")
