from __future__ import annotations

import pytest

from tests.admission.reviews import NODE, OPTED_IN, REPLICA_SET, Json, answer, pod, review, update
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.policy.model import Action, Placement, Policy, RequiredLabel
from webhook.policy.pattern import Pattern

POLICY = Policy(name="default")
MISSING = "Pod must have custom label: metadata.labels.custom is missing"


def rules(*required: RequiredLabel) -> Policy:
    return Policy(name="default", required_labels=required)


def assert_allowed(verdict: Verdict) -> None:
    assert verdict == Verdict(policy="default")


def test_pod_with_the_label_is_allowed() -> None:
    assert_allowed(validate(review(pod({"custom": ""})), POLICY))


@pytest.mark.parametrize("labels", [None, {}, {"app": "web"}, {"Custom": "a"}, {"x/custom": "a"}])
def test_pod_without_the_label_is_denied(labels: Json | None) -> None:
    verdict = validate(review(pod(labels)), POLICY)

    assert verdict.outcome == "deny"
    assert (
        verdict.message == f"{MISSING}. Allowed: any value. Set metadata.labels.custom in the pod's manifest"
    )
    assert verdict.rule == "spec.requiredLabels[0]"
    assert [(cause.reason, cause.field) for cause in verdict.causes] == [
        ("FieldValueRequired", "metadata.labels.custom")
    ]


@pytest.mark.parametrize(
    "obj", [{"kind": "Pod"}, {"kind": "Pod", "metadata": None}, {"kind": "Pod", "metadata": {}}]
)
def test_pod_without_metadata_is_denied(obj: Json) -> None:
    assert validate(review(obj), POLICY).message.startswith(MISSING)


def test_generated_name_is_denied_cleanly() -> None:
    asked = review({"kind": "Pod", "metadata": {"generateName": "web-"}, "spec": {}})

    response = answer(asked, validate(asked, POLICY))

    assert response["status"]["details"]["name"] == "web-*"
    assert response["status"]["message"].startswith(MISSING)


@pytest.mark.parametrize("claimed", [{}, {"namespace": "kube-system"}, {"namespace": None}])
def test_only_the_request_s_namespace_counts(claimed: Json) -> None:
    assert not validate(review(pod(**claimed), namespace="team-a"), POLICY).allowed
    assert validate(review(pod(**claimed), namespace="kube-system"), POLICY).allowed


def test_value_that_is_not_allowed_is_shown_beside_those_that_are() -> None:
    policy = rules(RequiredLabel(key="custom", allowed_values=("batch", "web")))

    verdict = validate(review(pod({"custom": "db"})), policy)

    assert verdict.message == (
        'Pod must have custom label: metadata.labels.custom is "db". Allowed: batch, web. '
        "Set metadata.labels.custom in the pod's manifest"
    )
    assert verdict.causes[0].reason == "FieldValueNotSupported"


def test_value_that_does_not_match_is_shown_beside_the_pattern() -> None:
    policy = rules(RequiredLabel(key="custom", pattern=Pattern("[a-z]+")))

    verdict = validate(review(pod({"custom": "v1"})), policy)

    assert 'metadata.labels.custom is "v1". Allowed: a value that matches [a-z]+. Set' in verdict.message
    assert verdict.causes[0].reason == "FieldValueInvalid"


def test_many_allowed_values_are_cut() -> None:
    policy = rules(RequiredLabel(key="custom", allowed_values=("", *(f"v{number}" for number in range(20)))))

    message = validate(review(pod()), policy).message

    assert 'Allowed: "", v0, v1, v2, v3, v4, v5, v6, v7, v8 and 11 more. Set' in message


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("custom", "metadata.labels.custom"),
        ("my_team-1", "metadata.labels.my_team-1"),
        ("a.b", "metadata.labels[a.b]"),
        ("example.com/team", "metadata.labels[example.com/team]"),
    ],
)
def test_field_is_written_as_the_api_server_writes_it(key: str, field: str) -> None:
    verdict = validate(review(pod()), rules(RequiredLabel(key=key)))

    assert verdict.causes[0].field == field
    assert verdict.message.startswith(f"Pod must have {key} label: {field} is missing. ")


@pytest.mark.parametrize(
    ("message", "start"),
    [
        ("Which team? See wiki/labels", "Which team? See wiki/labels: metadata.labels.custom is missing. "),
        ("Say which team.", "Say which team. metadata.labels.custom is missing. "),
    ],
)
def test_denial_starts_with_the_rule_s_message_word_for_word(message: str, start: str) -> None:
    verdict = validate(review(pod()), rules(RequiredLabel(key="custom", message=message)))

    assert verdict.message.startswith(start)


def test_several_faults_are_told_in_the_policy_s_order() -> None:
    policy = rules(RequiredLabel(key="b"), RequiredLabel(key="a"), RequiredLabel(key="custom"))

    verdict = validate(review(pod({"custom": "x"})), policy)

    first, second = verdict.message.split("; ")
    assert first.startswith("Pod must have b label: metadata.labels.b is missing. ")
    assert second.startswith("Pod must have a label: metadata.labels.a is missing. ")
    assert [cause.field for cause in verdict.causes] == ["metadata.labels.b", "metadata.labels.a"]
    assert verdict.rule == "spec.requiredLabels[0],spec.requiredLabels[1]"


def test_pod_of_a_controller_is_mended_in_the_template() -> None:
    verdict = validate(review(pod(ownerReferences=[{"kind": "Other", "name": "x"}, REPLICA_SET])), POLICY)

    assert verdict.message.endswith(
        "Set metadata.labels.custom in the pod template behind ReplicaSet web-5d4"
    )


@pytest.mark.parametrize(
    ("action", "outcome", "allowed", "warnings"),
    [("Deny", "deny", False, []), ("Warn", "warn", True, [MISSING]), ("Audit", "audit", True, [])],
)
def test_action_of_a_rule_decides_what_comes_of_it(
    action: Action, outcome: str, allowed: bool, warnings: list[str]
) -> None:
    verdict = validate(review(pod()), rules(RequiredLabel(key="custom", action=action)))

    assert (verdict.outcome, verdict.allowed, verdict.warnings) == (outcome, allowed, warnings)
    assert verdict.audit_annotations == {
        "verdict": outcome,
        "policy": "default",
        "rule": "spec.requiredLabels[0]",
    }


def test_denial_comes_with_the_warnings_of_other_rules() -> None:
    policy = rules(
        RequiredLabel(key="a", action="Audit"), RequiredLabel(key="b", action="Warn"), RequiredLabel(key="c")
    )

    verdict = validate(review(pod()), policy)

    assert verdict.outcome == "deny"
    assert verdict.message.startswith("Pod must have c label: ")
    assert verdict.warnings == ["Pod must have b label: metadata.labels.b is missing"]
    assert [cause.field for cause in verdict.causes] == ["metadata.labels.c"]
    assert verdict.rule == "spec.requiredLabels[0],spec.requiredLabels[1],spec.requiredLabels[2]"


def test_update_that_removes_the_label_is_denied_with_the_command_that_keeps_it() -> None:
    verdict = validate(update(pod({"custom": "web"}), pod({})), POLICY)

    assert verdict.message == (
        f"{MISSING}. Allowed: any value. Keep it: kubectl label pod web-1 -n team-a --overwrite custom=web"
    )


def test_update_that_breaks_the_value_is_denied() -> None:
    policy = rules(RequiredLabel(key="custom", allowed_values=("batch", "web")))

    verdict = validate(update(pod({"custom": "web"}), pod({"custom": "db"})), policy)

    assert 'metadata.labels.custom is "db". Allowed: batch, web. Keep it: ' in verdict.message
    assert verdict.message.endswith("custom=web")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"custom": "web"}, {"custom": "batch"}),
        ({"custom": "web"}, {"custom": "web", "app": "x"}),
        ({}, {}),
        (None, {"app": "x"}),
        ({"custom": "db"}, {}),
        ({}, {"custom": "db"}),
        ({"custom": "db"}, {"custom": "x"}),
    ],
)
def test_update_that_breaks_nothing_new_is_allowed(old: Json | None, new: Json | None) -> None:
    policy = rules(RequiredLabel(key="custom", allowed_values=("batch", "web")))

    assert_allowed(validate(update(pod(old), pod(new)), policy))


def test_update_is_judged_rule_by_rule() -> None:
    policy = rules(RequiredLabel(key="a"), RequiredLabel(key="b"))

    verdict = validate(update(pod({"b": "x"}), pod({})), policy)

    assert [cause.field for cause in verdict.causes] == ["metadata.labels.b"]


def test_update_without_the_old_object_is_judged_as_new() -> None:
    assert not validate(review(pod(), operation="UPDATE"), POLICY).allowed


def test_old_object_counts_on_update_alone() -> None:
    assert not validate(review(pod(), oldObject=pod()), POLICY).allowed


def test_terminating_pod_can_lose_its_finalizers_and_its_label() -> None:
    old = pod({"custom": "a"}, finalizers=["x"], deletionTimestamp="2026-01-01T00:00:00Z")
    new = pod({}, deletionTimestamp="2026-01-01T00:00:00Z")

    assert_allowed(validate(update(old, new), POLICY))


def test_mirror_pod_passes_only_when_a_node_creates_it() -> None:
    mirror = pod(annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n1"})

    assert_allowed(validate(review(mirror, userInfo=NODE), POLICY))
    for forger in (
        {"username": "alice", "groups": ["system:authenticated"]},
        {"username": "alice", "groups": ["system:nodes"]},
        {"username": "system:node:n1", "groups": ["system:authenticated"]},
    ):
        assert not validate(review(mirror, userInfo=forger), POLICY).allowed


def test_node_without_the_mirror_annotation_is_judged() -> None:
    assert not validate(review(pod(), userInfo=NODE), POLICY).allowed


def test_final_state_is_checked_where_the_pod_itself_opted_in() -> None:
    unsteered = validate(review(pod(OPTED_IN)), POLICY)
    elsewhere = validate(review(pod({"custom": "web", "custom-scheduler.io/opt-in": "yes"})), POLICY)

    assert unsteered.warnings == [
        'Pod opted in but is not steered: spec.schedulerName is "default-scheduler"'
    ]
    assert unsteered.outcome == "warn"
    assert_allowed(elsewhere)


def test_labels_and_final_state_share_one_denial() -> None:
    policy = Policy(name="default", placement=Placement(verify="Deny"))

    verdict = validate(review(pod({"custom-scheduler.io/opt-in": "true"})), policy)

    assert verdict.message.startswith(MISSING)
    assert "; Pod opted in but is not steered: " in verdict.message
    assert verdict.rule == "spec.requiredLabels[0],spec.placement.verify"


def test_as_warning_allows_and_tells_the_same() -> None:
    policy = rules(
        RequiredLabel(key="a"), RequiredLabel(key="b", action="Warn"), RequiredLabel(key="c", action="Audit")
    )
    asked = review(pod())

    verdict = as_warning(validate(asked, policy))

    assert (verdict.outcome, verdict.allowed, verdict.message, verdict.causes) == ("warn", True, "", [])
    assert verdict.warnings == [
        "Pod must have a label: metadata.labels.a is missing",
        "Pod must have b label: metadata.labels.b is missing",
    ]
    assert "status" not in answer(asked, verdict)


def test_as_warning_leaves_what_is_allowed() -> None:
    verdict = validate(review(pod({"custom": "a"})), POLICY)

    assert as_warning(verdict) == verdict


def test_strange_value_cannot_break_the_line_or_flood_it() -> None:
    policy = rules(RequiredLabel(key="custom", allowed_values=("a",)))

    verdict = validate(review(pod({"custom": 'x"\r\nWarning: \x7f' + "y" * 1_000_000})), policy)

    assert r'metadata.labels.custom is "x\"\r\nWarning: ' in verdict.message
    assert verdict.message.isprintable()
    assert len(verdict.message) < 300


def test_strange_names_cannot_break_the_command() -> None:
    new = pod({}, name="a; rm -rf /\n")
    verdict = validate(update(pod({"custom": "$(x)"}), new, name="a; rm -rf /\n", namespace="b c"), POLICY)

    assert verdict.message.endswith("kubectl label pod 'a; rm -rf / ' -n 'b c' --overwrite custom='$(x)'")
