from __future__ import annotations

import pytest
from hypothesis import given

from tests.admission.reviews import OPTED_IN, Json, apply, operations, pod, review, workload
from tests.admission.strategies import pods, policies
from webhook.admission.mutate import mutate
from webhook.admission.objects import POD, Kind
from webhook.admission.review import MalformedReview
from webhook.admission.verdict import Verdict
from webhook.inspect.forecast import Surroundings, _patched, forecast
from webhook.policy.model import (
    NodeAffinity,
    NodeSelectorRequirement,
    Placement,
    Policy,
    PreferredRequirement,
    Toleration,
)

DEPLOYMENT: Kind = ("apps", "Deployment")
DENYING = Surroundings(name="team-a")
OPTED_IN_NAMESPACE = Surroundings(name="team-a", opted_in=True)
STRICT = Policy(
    name="strict",
    placement=Placement(
        verify="Deny",
        node_affinity=NodeAffinity(
            required=(NodeSelectorRequirement(key="custom", operator="Exists"),),
            preferred=(PreferredRequirement(weight=5, key="a/b", operator="Exists"),),
        ),
        tolerations=(Toleration(key="dedicated", operator="Exists"),),
    ),
)


def fields(verdict: Verdict) -> list[tuple[str, str]]:
    return [(fault.action, fault.field) for fault in verdict.faults]


def with_template_spec(labels: dict[str, str], **spec: object) -> Json:
    made = workload("Deployment", labels)
    made["spec"]["template"]["spec"].update(spec)
    return made


def test_a_pod_is_judged_as_the_webhook_would() -> None:
    verdict = forecast(POD, pod(), Policy(name="default"), DENYING)

    assert fields(verdict) == [("Deny", "metadata.labels.custom")]


def test_a_pod_that_opts_in_is_judged_after_it_was_steered() -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}}  # fmt: skip

    plain = forecast(POD, pod(OPTED_IN), STRICT, DENYING)
    narrowed = forecast(POD, pod(OPTED_IN, spec={"affinity": affinity, "tolerations": []}), STRICT, DENYING)

    assert (plain.faults, narrowed.faults) == ((), ())


def test_what_steering_cannot_mend_is_told() -> None:
    verdict = forecast(POD, pod(OPTED_IN, spec={"nodeName": "n1"}), STRICT, DENYING)

    assert fields(verdict) == [("Deny", "spec.nodeName")]


def test_a_namespace_opts_its_pods_in_unless_they_decline() -> None:
    by_hand = {"nodeName": "n1"}

    asked = forecast(POD, pod({"custom": "x"}, spec=by_hand), STRICT, OPTED_IN_NAMESPACE)
    declined = forecast(
        POD,
        pod({"custom": "x", "custom-scheduler.io/opt-in": "false"}, spec=by_hand),
        STRICT,
        OPTED_IN_NAMESPACE,
    )

    assert fields(asked) == [("Deny", "spec.nodeName")]
    assert declined.faults == ()


@pytest.mark.parametrize("enforce", ["deny", None])
def test_the_final_state_is_looked_at_once_whoever_asked(enforce: str | None) -> None:
    surroundings = Surroundings(name="team-a", enforce="deny" if enforce else None)

    verdict = forecast(POD, pod(OPTED_IN, spec={"nodeName": "n1"}), STRICT, surroundings)

    assert len(verdict.faults) == 1


def test_without_enforcement_labels_are_not_asked_for() -> None:
    unenforced = Surroundings(name="team-a", enforce=None)

    assert forecast(POD, pod(), STRICT, unenforced).faults == ()
    assert forecast(DEPLOYMENT, workload("Deployment"), STRICT, unenforced).faults == ()


def test_a_namespace_that_warns_denies_nothing() -> None:
    verdict = forecast(POD, pod(), STRICT, Surroundings(name="team-a", enforce="warn"))

    assert verdict.outcome == "warn"


def test_another_scheduler_is_refused_before_anything_else_is_asked() -> None:
    policy = Policy(name="default", placement=Placement(other_scheduler="Deny"))

    verdict = forecast(
        POD, pod({"custom-scheduler.io/opt-in": "true"}, spec={"schedulerName": "x"}), policy, DENYING
    )

    assert fields(verdict) == [("Deny", "spec.schedulerName")]


@pytest.mark.parametrize("mode", ["Deny", "Warn", "Off"])
def test_the_pods_of_a_workload_are_denied_whatever_is_said_at_apply(mode: str) -> None:
    policy = Policy(name="default", workloads=mode)  # type: ignore[arg-type]  # each of a Literal's values

    verdict = forecast(DEPLOYMENT, workload("Deployment"), policy, DENYING)

    assert fields(verdict) == [("Deny", "spec.template.metadata.labels.custom")]
    assert "in Deployment web" in verdict.message


def test_the_path_in_a_cron_job_leads_through_its_job() -> None:
    verdict = forecast(("batch", "CronJob"), workload("CronJob"), Policy(name="default"), DENYING)

    assert fields(verdict) == [("Deny", "spec.jobTemplate.spec.template.metadata.labels.custom")]


def test_what_keeps_a_workloads_pods_from_being_placed_is_told_at_its_template() -> None:
    verdict = forecast(DEPLOYMENT, with_template_spec(OPTED_IN, nodeName="n1"), STRICT, DENYING)

    assert fields(verdict) == [("Deny", "spec.template.spec.nodeName")]
    assert "the pod template behind Deployment web" in verdict.message


def test_the_pods_of_a_daemon_set_are_not_steered() -> None:
    made = with_template_spec(OPTED_IN, nodeName="n1")

    assert forecast(("apps", "DaemonSet"), made, STRICT, DENYING).faults == ()


def test_what_a_controller_manages_is_left_to_its_owner() -> None:
    owned = with_template_spec(OPTED_IN, nodeName="n1")
    owned["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "web", "controller": True}]

    assert forecast(("apps", "ReplicaSet"), owned, STRICT, DENYING).faults == ()


def test_an_exempt_namespace_is_exempt() -> None:
    verdict = forecast(POD, pod(), Policy(name="default"), Surroundings(name="kube-system"))

    assert (verdict.faults, verdict.exempt_by) == ((), "spec.exempt.namespaces")


@given(pods, policies)
def test_what_is_judged_is_the_object_that_the_patch_makes(made: Json, policy: Policy) -> None:
    asked = review(made)
    verdict = mutate(asked, policy, opted_in_by="namespace")

    assert _patched(made, verdict.patch) == apply(made, operations(asked, verdict))


def test_the_object_is_left_as_it_is() -> None:
    made = pod(OPTED_IN)

    forecast(POD, made, STRICT, DENYING)

    assert made == pod(OPTED_IN)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({"custom": True}, "$.request.object.metadata.labels"),
        ({"custom": "\ud800"}, "can't be written as JSON"),
    ],
)
def test_an_object_that_no_api_server_would_take_is_malformed(labels: dict[str, object], told: str) -> None:
    with pytest.raises(MalformedReview, match=r"\$\.request\.object") as caught:
        forecast(POD, pod(labels), Policy(name="default"), DENYING)

    assert told in str(caught.value)


def test_a_template_without_a_shape_is_malformed_or_nothing() -> None:
    misshapen = {"metadata": {"name": "web"}, "spec": {"template": {"metadata": []}}}

    with pytest.raises(MalformedReview):
        forecast(DEPLOYMENT, misshapen, STRICT, Surroundings(enforce=None))
    assert forecast(DEPLOYMENT, {"metadata": None, "spec": None}, STRICT, DENYING).faults == ()
