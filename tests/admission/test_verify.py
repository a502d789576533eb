from __future__ import annotations

import pytest

from tests.admission.nodematch import REQUIRED
from tests.admission.reviews import DAEMON_SET_CONTROLLER, NODE, OPTED_IN, Json, patched, pod, review, update
from webhook.admission.mutate import mutate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.policy.model import Mode, NodeAffinity, OtherScheduler, Placement, Policy

POLICY = Policy(name="default", placement=Placement(verify="Deny"))
CUSTOM = {"key": "custom", "operator": "Exists"}
UNSTEERED = 'Pod opted in but is not steered: spec.schedulerName is "default-scheduler"'


def steered(labels: Json | None = None) -> Json:
    obj = pod(OPTED_IN if labels is None else labels)
    asked = review(obj)
    return patched(obj, asked, mutate(asked, POLICY, opted_in_by="namespace"))


def assert_fine(verdict: Verdict) -> None:
    assert verdict == Verdict(policy="default")


@pytest.mark.parametrize("labels", [{}, OPTED_IN, {"custom-scheduler.io/opt-in": "yes"}])
def test_steered_pod_is_fine_whoever_opted_it_in(labels: Json) -> None:
    assert_fine(verify(review(steered(labels)), POLICY))


@pytest.mark.parametrize("labels", [{}, OPTED_IN, None])
def test_pod_that_was_not_steered_is_found(labels: Json | None) -> None:
    verdict = verify(review(pod(labels)), POLICY)

    assert verdict.message == (
        f"{UNSTEERED}. Allowed: custom-scheduler. Create the pod again; if it stays so, "
        "a cluster admin finds the cause with: custom-scheduler doctor"
    )
    assert verdict.rule == "spec.placement.verify"
    assert [(cause.field, cause.reason) for cause in verdict.causes] == [
        ("spec.schedulerName", "FieldValueNotSupported")
    ]


@pytest.mark.parametrize(
    ("mode", "outcome", "warnings"),
    [("Deny", "deny", []), ("Warn", "warn", [UNSTEERED]), ("Off", "allow", [])],
)
def test_mode_decides_what_comes_of_it(mode: Mode, outcome: str, warnings: list[str]) -> None:
    verdict = verify(review(pod()), Policy(name="default", placement=Placement(verify=mode)))

    assert (verdict.outcome, verdict.warnings) == (outcome, warnings)


def test_label_rules_are_not_judged() -> None:
    assert_fine(verify(review(steered({})), POLICY))


def test_node_set_by_hand_is_found() -> None:
    obj = steered()
    obj["spec"]["nodeName"] = "n1"

    verdict = verify(review(obj), POLICY)

    assert verdict.message == (
        'Pod opted in but is not steered: spec.nodeName is "n1". Remove it from the pod\'s manifest, for '
        'custom-scheduler to choose the node, or label the pod custom-scheduler.io/opt-in: "false"'
    )
    assert [cause.field for cause in verdict.causes] == ["spec.nodeName"]


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": None},
        {"affinity": {}},
        {"affinity": {"nodeAffinity": {}}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{"key": "x"}]}]}}}},
        {
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [CUSTOM]},
                            {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
                        ]
                    }
                }
            }
        },
    ],
)
def test_our_scheduler_without_our_affinity_is_found(spec: Json) -> None:
    obj = pod(OPTED_IN, spec={"schedulerName": "custom-scheduler", **spec})

    verdict = verify(review(obj), POLICY)

    assert verdict.message.startswith(
        "Pod opted in but is not steered: its required node affinity lacks custom Exists. Needed in each of its terms."
    )
    assert [cause.field for cause in verdict.causes] == [f"spec.affinity.nodeAffinity.{REQUIRED}"]


def test_pod_that_no_node_fits_anyway_is_fine() -> None:
    obj = pod(
        OPTED_IN,
        spec={
            "schedulerName": "custom-scheduler",
            "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}},
        },
    )

    assert_fine(verify(review(obj), POLICY))


def test_policy_without_affinity_looks_at_the_name_alone() -> None:
    policy = Policy(
        name="default", placement=Placement(verify="Deny", node_affinity=NodeAffinity(required=()))
    )

    assert_fine(verify(review(pod(OPTED_IN, spec={"schedulerName": "custom-scheduler"})), policy))


@pytest.mark.parametrize(("other", "allowed"), [("Respect", True), ("Override", False), ("Deny", False)])
def test_another_scheduler_is_fine_where_it_is_respected(other: OtherScheduler, allowed: bool) -> None:
    policy = Policy(name="default", placement=Placement(verify="Deny", other_scheduler=other))

    verdict = verify(review(pod(OPTED_IN, spec={"schedulerName": "volcano"})), policy)

    assert verdict.allowed is allowed
    if not allowed:
        assert verdict.message.endswith("Allowed: custom-scheduler. Remove it from the pod's manifest")


def test_pod_that_declined_is_fine() -> None:
    assert_fine(verify(review(pod({"custom-scheduler.io/opt-in": "false"})), POLICY))


def test_daemon_is_fine_only_when_its_controller_creates_it() -> None:
    daemon = pod(OPTED_IN, ownerReferences=[{"kind": "DaemonSet", "name": "d", "controller": True}])

    assert_fine(verify(review(daemon, userInfo=DAEMON_SET_CONTROLLER), POLICY))
    assert not verify(review(daemon), POLICY).allowed


def test_mirror_pod_is_fine_only_when_a_node_creates_it() -> None:
    mirror = pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n1"})

    assert_fine(verify(review(mirror, userInfo=NODE), POLICY))
    assert not verify(review(mirror), POLICY).allowed


def test_update_is_not_looked_at() -> None:
    assert_fine(verify(update(pod({}), pod(OPTED_IN, spec={"nodeName": "n1"})), POLICY))


def test_pod_without_a_spec_is_left_to_the_api_server() -> None:
    assert_fine(verify(review({"kind": "Pod", "metadata": {}}), POLICY))


def test_warnings_are_short() -> None:
    policy = Policy(name="default")
    unsteered = verify(review(pod(OPTED_IN)), policy)
    loose = verify(review(pod(OPTED_IN, spec={"schedulerName": "custom-scheduler"})), policy)

    assert [len(warning) <= 120 for warning in (*unsteered.warnings, *loose.warnings)] == [True, True]
