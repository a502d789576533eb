"""From opt-in to a node: steering by the mutating webhook, placing by the binder thread."""

from __future__ import annotations

import json
from typing import Any

from devcluster.cluster import DevCluster
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import get, pod, pod_events, scheduled_condition
from tests.waiting import eventually

OPT_IN = {"custom-scheduler.io/opt-in": "true"}
OPT_OUT = {"custom-scheduler.io/opt-in": "false"}


def placed(cluster: DevCluster, namespace: str, name: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = get(cluster, "pod", namespace, name)
        return found if found["spec"].get("nodeName") else None

    found: dict[str, Any] = eventually(look)
    return found


def test_a_pod_that_opted_in_is_steered(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace()

    cluster.kubectl("apply", "-f", "-", input=pod(home, "steered", labels=OPT_IN))

    spec = get(cluster, "pod", home, "steered")["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert spec["schedulerName"] == "custom-scheduler"
    assert required == {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "custom", "operator": "Exists"}]}]
    }


def test_a_namespace_opts_its_pods_in(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace(opt_in="true")

    cluster.kubectl("apply", "-f", "-", input=pod(home, "steered"))

    assert get(cluster, "pod", home, "steered")["spec"]["schedulerName"] == "custom-scheduler"


def test_a_pods_own_no_beats_its_namespace(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace(opt_in="true")

    cluster.kubectl("apply", "-f", "-", input=pod(home, "free", labels=OPT_OUT))

    spec = get(cluster, "pod", home, "free")["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert "affinity" not in spec


def test_a_pod_that_did_not_opt_in_is_left_to_the_clusters_own_scheduler(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()

    cluster.kubectl("apply", "-f", "-", input=pod(home, "free"))

    assert placed(cluster, home, "free")["spec"]["schedulerName"] == "default-scheduler"


def test_the_binder_places_the_pod_on_a_labelled_node_and_says_so(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()

    cluster.kubectl("apply", "-f", "-", input=pod(home, "placed", labels=OPT_IN))

    node = placed(cluster, home, "placed")["spec"]["nodeName"]
    (event,) = eventually(lambda: pod_events(cluster, home, "placed"))
    labels = json.loads(cluster.kubectl("get", "node", node, "-o", "json").stdout)["metadata"]["labels"]
    assert "custom" in labels
    assert (event["type"], event["reason"]) == ("Normal", "Scheduled")
    assert event["message"] == f"Successfully assigned {home}/placed to {node}"
    assert event["reportingComponent"] == "custom-scheduler"


def test_a_pod_that_fits_nowhere_says_why_as_kube_scheduler_would(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()

    cluster.kubectl("apply", "-f", "-", input=pod(home, "big", labels=OPT_IN, cpu="1000"))

    condition = eventually(lambda: scheduled_condition(get(cluster, "pod", home, "big")))
    expected = (
        "0/6 nodes are available: 3 Insufficient cpu, 3 node(s) didn't match Pod's node affinity/selector."
    )
    assert condition["status"] == "False"
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == expected
    (event,) = eventually(lambda: pod_events(cluster, home, "big"))
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "FailedScheduling", expected)


def test_a_pending_pod_is_placed_as_soon_as_a_node_fits_it(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    cluster.kubectl(
        "apply", "-f", "-", input=pod(home, "waiting", labels=OPT_IN, nodeSelector={"disk": "late"})
    )
    eventually(lambda: scheduled_condition(get(cluster, "pod", home, "waiting")))

    cluster.kubectl("label", "node", "node-1", "disk=late")
    try:
        assert placed(cluster, home, "waiting")["spec"]["nodeName"] == "node-1"
    finally:
        cluster.kubectl("label", "node", "node-1", "disk-")


def test_a_gated_pod_waits_until_its_gates_are_gone(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace()
    cluster.kubectl(
        "apply",
        "-f",
        "-",
        input=pod(home, "gated", labels=OPT_IN, schedulingGates=[{"name": "example.com/hold"}]),
    )
    condition = eventually(lambda: scheduled_condition(get(cluster, "pod", home, "gated")))
    assert condition["reason"] == "SchedulingGated"

    cluster.kubectl(
        "patch",
        "pod",
        "gated",
        "-n",
        home,
        "--type=json",
        "-p",
        '[{"op":"remove","path":"/spec/schedulingGates"}]',
    )

    assert placed(cluster, home, "gated")
