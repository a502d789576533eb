"""Decisions that the real kube-scheduler makes through us."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.metrics import report_memory, serve_node_metrics
from tests.e2e.extended import Certificates, Extender, KubeScheduler
from tests.e2e.objects import get, pod, pod_events
from tests.e2e.placements import wrong_placements
from tests.waiting import eventually

CONFIGURATION = """\
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeLabel}, {name: MemoryUsage}]
"""
MEMORY = {"full": "30Gi", "half": "16Gi", "free": "2Gi", "unlabelled": "1Gi"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        cluster.add_nodes(["full", "half", "free"], labels={"custom": "yes"})
        cluster.add_node("unlabelled")
        serve_node_metrics(cluster)
        report_memory(cluster, MEMORY)
        yield cluster


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def extender(
    cluster: DevCluster, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Extender]:
    configuration = tmp_path_factory.mktemp("extender") / "config.yaml"
    configuration.write_text(CONFIGURATION)
    with Extender(cluster, certificates, configuration) as extender:
        eventually(lambda: "custom_scheduler_node_metrics_age_seconds 0.0\n" not in extender.metrics())
        yield extender


@pytest.fixture(autouse=True)
def no_pods_left(cluster: DevCluster) -> Iterator[None]:
    yield
    cluster.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")


def node_of(cluster: DevCluster, name: str) -> str:
    def look() -> str | None:
        found: str | None = get(cluster, "pod", "default", name)["spec"].get("nodeName")
        return found

    node: str = eventually(look)
    return node


@pytest.mark.parametrize("node_cache_capable", [True, False], ids=["by name", "whole nodes"])
def test_kube_scheduler_places_by_our_filter_and_our_scores(
    cluster: DevCluster, certificates: Certificates, extender: Extender, node_cache_capable: bool
) -> None:
    weighty = {"nodeCacheCapable": node_cache_capable, "weight": 100}
    with KubeScheduler(cluster, certificates, extender.url, **weighty):
        cluster.kubectl("apply", "-f", "-", input=pod("default", "nginx"))

        assert node_of(cluster, "nginx") == "free"


def test_the_reason_of_our_filter_is_what_a_developer_reads(
    cluster: DevCluster, certificates: Certificates, extender: Extender
) -> None:
    with KubeScheduler(cluster, certificates, extender.url):
        only_there = {"kubernetes.io/hostname": "unlabelled"}
        cluster.kubectl("apply", "-f", "-", input=pod("default", "nowhere", nodeSelector=only_there))

        event = eventually(lambda: pod_events(cluster, "default", "nowhere"))[0]

    assert event["reason"] == "FailedScheduling"
    assert "1 node(s) didn't have the required label(s) custom" in event["message"]


def test_a_burst_doesnt_pile_up_on_one_node(
    cluster: DevCluster, certificates: Certificates, extender: Extender
) -> None:
    names = [f"new-{number}" for number in range(1, 6)]
    cluster.add_nodes(names, labels={"custom": "yes"})
    pods = [json.loads(pod("default", f"pod-{number}")) for number in range(20)]
    for each in pods:
        each["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    burst = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    try:
        with KubeScheduler(cluster, certificates, extender.url, weight=100):
            cluster.kubectl("apply", "-f", "-", input=burst)
            nodes = Counter(node_of(cluster, each["metadata"]["name"]) for each in pods)
            wrong = wrong_placements(cluster)
    finally:
        cluster.kubectl("delete", "nodes", *names)

    assert max(nodes.values()) <= 5, nodes
    assert wrong == []


def test_pods_are_placed_without_us_while_we_are_away(
    cluster: DevCluster, certificates: Certificates, extender: Extender
) -> None:
    extender.stop()
    try:
        with KubeScheduler(cluster, certificates, extender.url):
            cluster.kubectl("apply", "-f", "-", input=pod("default", "nginx"))
            assert node_of(cluster, "nginx")
    finally:
        extender.start()


def test_who_has_no_certificate_of_the_client_ca_gets_no_answer(
    cluster: DevCluster, certificates: Certificates, extender: Extender, tmp_path: Path
) -> None:
    stranger = Certificates(tmp_path)
    stranger.authority = certificates.authority
    with KubeScheduler(cluster, stranger, extender.url, ignorable=False):
        cluster.kubectl("apply", "-f", "-", input=pod("default", "refused"))

        event = eventually(lambda: pod_events(cluster, "default", "refused"))[0]

    assert event["reason"] == "FailedScheduling"
    assert "tls" in event["message"]


def test_it_tells_of_its_readiness_as_an_extender_and_not_as_a_webhook(extender: Extender) -> None:
    lines = [line for line in extender.metrics().splitlines() if line.startswith("custom_scheduler_ready{")]

    assert lines == ['custom_scheduler_ready{component="extender"} 1.0']
