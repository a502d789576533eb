"""What holds for every pod, policy and review, not only for those that somebody thought of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.admission.nodematch import REQUIRED, admits, meets
from tests.admission.reviews import (
    UID,
    Json,
    answer,
    apply,
    body,
    operations,
    pod,
    review,
    workload,
)
from tests.admission.strategies import (
    NODE_NAMES,
    anything,
    node_labels,
    pods,
    policies,
    users,
)
from webhook.admission.mutate import OptedInBy, mutate
from webhook.admission.review import MalformedReview, Review, decode_review
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.policy.model import Policy

bounded = settings(max_examples=50)
opted_in = st.sampled_from(["pod", "namespace"])


def verdicts(asked: Review, policy: Policy) -> list[Verdict]:
    validated = validate(asked, policy)
    return [
        validated,
        as_warning(validated),
        verify(asked, policy),
        mutate(asked, policy, opted_in_by="pod"),
        mutate(asked, policy, opted_in_by="namespace"),
    ]


def steered(obj: Json, policy: Policy, by: OptedInBy, user: Any) -> tuple[Json, list[Json]]:
    asked = review(obj, userInfo=user)
    patch = operations(asked, mutate(asked, policy, opted_in_by=by))
    return apply(obj, patch), patch


def assert_decided(text: bytes, policy: Policy) -> None:
    asked = decoded(text)
    if isinstance(asked, str):
        assert asked.startswith("$")
        return
    for verdict in verdicts(asked, policy):
        response = answer(asked, verdict)
        assert response["allowed"] or response["status"]["message"]
        assert all(warning.isprintable() for warning in response.get("warnings", []))


def decoded(text: bytes) -> Review | str:
    try:
        return decode_review(text)
    except MalformedReview as error:
        return str(error)


@bounded
@given(text=st.binary(max_size=200))
def test_any_bytes_are_decided_or_malformed(text: bytes) -> None:
    assert_decided(text, Policy(name="default"))


@bounded
@given(data=st.data(), policy=policies)
def test_review_with_anything_anywhere_is_decided_or_malformed(data: st.DataObject, policy: Policy) -> None:
    envelope = json.loads(
        body(data.draw(pods | st.sampled_from([workload("CronJob"), workload("Deployment")])))
    )
    parent, key = envelope, "request"
    while data.draw(st.booleans()) and isinstance(parent[key], dict | list) and parent[key]:
        parent = parent[key]
        key = data.draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
    parent[key] = data.draw(anything)

    assert_decided(json.dumps(envelope).encode(), policy)


@bounded
@given(data=st.data())
def test_cut_or_altered_bytes_are_decided_or_malformed(data: st.DataObject) -> None:
    text = bytearray(body(pod({"custom-scheduler.io/opt-in": "true", "é": "\U0001f600"})))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    assert_decided(bytes(text), Policy(name="default"))


@bounded
@given(
    obj=pods,
    old=st.none() | pods,
    policy=policies,
    user=users,
    operation=st.sampled_from(["CREATE", "UPDATE"]),
)
def test_generated_pod_is_decided_and_its_uid_echoed(
    obj: Json, old: Json | None, policy: Policy, user: Any, operation: str
) -> None:
    asked = review(obj, oldObject=old, operation=operation, userInfo=user)

    assert {answer(asked, verdict)["uid"] for verdict in verdicts(asked, policy)} == {UID}


@bounded
@given(obj=pods, policy=policies, by=opted_in, user=users)
def test_second_pass_finds_nothing_to_do(obj: Json, policy: Policy, by: OptedInBy, user: Any) -> None:
    once, _ = steered(obj, policy, by, user)

    _, again = steered(once, policy, by, user)

    assert again == []


@bounded
@given(obj=pods, policy=policies, by=opted_in, labels=node_labels, name=NODE_NAMES)
def test_affinity_never_widens(
    obj: Json, policy: Policy, by: OptedInBy, labels: dict[str, str], name: str
) -> None:
    after, patch = steered(obj, policy, by, {"username": "alice"})

    wanted = [
        {"key": one.key, "operator": one.operator, "values": list(one.values)}
        for one in policy.placement.node_affinity.required
    ]
    if not patch:
        assert after == obj
    # Narrower by exactly what the policy requires.
    assert admits(after, name, labels) == (
        admits(obj, name, labels) and (after == obj or all(meets(one, labels) for one in wanted))
    )


@bounded
@given(obj=pods, policy=policies, by=opted_in)
def test_selector_that_the_api_server_refuses_is_not_mended(obj: Json, policy: Policy, by: OptedInBy) -> None:
    def terms(of: Json) -> Any:
        required = ((of["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
        return None if required is None else required.get("nodeSelectorTerms") or []

    after, _ = steered(obj, policy, by, {"username": "alice"})

    before = terms(obj)
    assert before is None or len(terms(after)) == len(before)


@bounded
@given(obj=pods, policy=policies, by=opted_in)
def test_everything_that_the_pod_had_is_kept(obj: Json, policy: Policy, by: OptedInBy) -> None:
    after, _ = steered(obj, policy, by, {"username": "alice"})

    assert_kept(obj, after, "")


def assert_kept(before: Any, after: Any, path: str) -> None:
    if path in ("/spec/schedulerName", "/metadata/annotations/custom-scheduler.io/placed-by"):
        return
    if isinstance(before, dict):
        for key, value in before.items():
            assert_kept(value, after[key], f"{path}/{key}")
    elif isinstance(before, list):
        assert len(after) >= len(before)
        for index, value in enumerate(before):
            assert_kept(value, after[index], f"{path}/{index}")
    elif before is not None:
        assert before == after


@bounded
@given(obj=pods, policy=policies, by=opted_in)
def test_steered_pod_passes_the_check_of_its_final_state(obj: Json, policy: Policy, by: OptedInBy) -> None:
    after, patch = steered(obj, policy, by, {"username": "alice"})

    if patch:
        assert verify(review(after), policy) == Verdict(policy="generated")


@bounded
@given(obj=pods, policy=policies, by=opted_in)
def test_steering_never_changes_the_verdict_on_labels(obj: Json, policy: Policy, by: OptedInBy) -> None:
    after, _ = steered(obj, policy, by, {"username": "alice"})

    def label_rules(of: Json) -> list[str]:
        return [
            fault.rule
            for fault in validate(review(of), policy).faults
            if fault.rule != "spec.placement.verify"
        ]

    assert label_rules(after) == label_rules(obj)


@bounded
@given(old=pods, new=pods, policy=policies)
def test_update_is_never_judged_harder_than_create(old: Json, new: Json, policy: Policy) -> None:
    updated = validate(review(new, operation="UPDATE", oldObject=old), policy)
    created = validate(review(new), policy)

    assert {fault.rule for fault in updated.faults} <= {fault.rule for fault in created.faults}


@pytest.mark.parametrize("envs", [20, 1500])
def test_decision_does_not_depend_on_what_it_skips(envs: int) -> None:
    small = pod({"custom-scheduler.io/opt-in": "true"})
    large = pod({"custom-scheduler.io/opt-in": "true"})
    large["spec"]["containers"][0]["env"] = [{"name": f"V{n}", "value": "v" * 20} for n in range(envs)]
    policy = Policy(name="default")

    assert verdicts(review(large), policy) == verdicts(review(small), policy)
