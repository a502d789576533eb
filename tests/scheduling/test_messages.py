from __future__ import annotations

import pytest

from webhook.scheduling.messages import fit_error_message, go_duration, scheduled_message
from webhook.scheduling.outcome import FitError
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod


def test_reasons_are_counted_and_sorted_as_text() -> None:
    reasons = {
        "node(s) were unschedulable": 1,
        "node(s) had untolerated taint(s)": 1,
        "node(s) didn't match Pod's node affinity/selector": 3,
    }

    assert fit_error_message(all_nodes=5, reasons=reasons) == (
        "0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "3 node(s) didn't match Pod's node affinity/selector."
    )


def test_twelve_sorts_before_two() -> None:
    assert fit_error_message(all_nodes=15, reasons={"b": 2, "a": 12, "c": 1}) == (
        "0/15 nodes are available: 1 c, 12 a, 2 b."
    )


def test_the_message_of_a_pre_filter_stands_in_for_the_reasons() -> None:
    message = fit_error_message(
        all_nodes=5, reasons={}, pre_filter='persistentvolumeclaim "nope" not found', post_filter="not found"
    )

    assert message == '0/5 nodes are available: persistentvolumeclaim "nope" not found. not found'


def test_the_message_of_a_post_filter_follows() -> None:
    message = fit_error_message(
        all_nodes=1, reasons={"Too many pods": 1}, post_filter="preemption: 0/1 nodes are available: 1 x."
    )

    assert message == "0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are available: 1 x."


def test_a_mixed_cluster_reads_as_from_kube_scheduler() -> None:
    cache = make_cache(
        make_node("cordoned", unschedulable=True),
        make_node("tainted", taints=["a=b:NoSchedule"]),
        make_node("unlabelled"),
        make_node("small", cpu="1", memory="1Gi", labels={"disk": "ssd"}),
        make_node("narrow", cpu="1", labels={"disk": "ssd"}),
    )
    pod = make_pod(cpu="2", memory="4Gi", spec={"nodeSelector": {"disk": "ssd"}})

    decision = make_framework(cache).schedule(pod)

    assert isinstance(decision, FitError)
    assert decision.message == (
        "0/5 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu."
    )
    assert decision.reason == "Unschedulable"


def test_nodes_that_the_name_affinity_leaves_out_are_counted_as_one_group() -> None:
    cache = make_cache(make_node("mine", taints=["a:NoSchedule"]), *(make_node(f"n{i}") for i in range(4)))
    field = {"key": "metadata.name", "operator": "In", "values": ["mine"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    decision = make_framework(cache).schedule(make_pod(spec={"affinity": affinity}))

    assert isinstance(decision, FitError)
    assert decision.message == (
        "0/5 nodes are available: 1 node(s) had untolerated taint(s), "
        "4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert decision.rejected_by == {"NodeAffinity", "TaintToleration"}


def test_a_cluster_without_nodes_says_so() -> None:
    decision = make_framework(make_cache()).schedule(make_pod())

    assert isinstance(decision, FitError)
    assert decision.message == "no nodes available to schedule pods"


def test_the_note_about_a_bound_pod_names_pod_and_node() -> None:
    assert scheduled_message(make_pod("web-0"), "n1") == "Successfully assigned default/web-0 to n1"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (1, "1s"),
        (2.5, "2.5s"),
        (10, "10s"),
        (90, "1m30s"),
        (900, "15m0s"),
        (3600, "1h0m0s"),
        (3661.5, "1h1m1.5s"),
    ],
)
def test_a_time_reads_as_in_go(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
