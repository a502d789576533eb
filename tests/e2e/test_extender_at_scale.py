"""The real kube-scheduler asks us about 5,000 nodes by their names, for each of some tens of pods."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.metrics import report_memory, serve_node_metrics
from tests.e2e.extended import Certificates, Extender, KubeScheduler
from tests.e2e.objects import pod
from tests.e2e.placements import wrong_placements
from tests.e2e.test_extender import CONFIGURATION
from tests.waiting import eventually

# Its cluster alone takes half a minute to fill, on a machine that has nothing else to do.
pytestmark = pytest.mark.timeout(300)

NODES = 5_000
PODS = 40
NAMES = [f"node-{number}" for number in range(NODES)]
# They would be liked best, if they had the label.
UNLABELLED = set(NAMES[::100])
# As many as there are pods, and side by side: kube-scheduler has to ask about all nodes to get at all of them.
FREEST = set(NAMES[3_001 : 3_001 + PODS])
PODS_PATH = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        cluster.add_nodes([name for name in NAMES if name not in UNLABELLED], labels={"custom": "yes"})
        cluster.add_nodes(UNLABELLED)
        serve_node_metrics(cluster)
        report_memory(cluster, {name: memory_in_use(name) for name in NAMES})
        yield cluster


def memory_in_use(name: str) -> str:
    return "1Gi" if name in UNLABELLED else "4Gi" if name in FREEST else "12Gi"


def test_each_pod_of_a_burst_goes_to_another_of_the_labelled_nodes_with_the_least_memory_in_use(
    cluster: DevCluster, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    configuration = tmp_path / "config.yaml"
    configuration.write_text(CONFIGURATION)
    with Extender(cluster, certificates, configuration) as extender:
        eventually(lambda: "custom_scheduler_node_metrics_age_seconds 0.0\n" not in extender.metrics())
        with KubeScheduler(cluster, certificates, extender.url, ignorable=False, weight=100) as scheduler:
            for number in range(PODS):
                each = json.loads(pod("default", f"pod-{number}"))
                each["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
                cluster.request("POST", PODS_PATH, each)
            eventually(lambda: all(nodes_of_pods(cluster)), "all pods to have a node", seconds=120)
            nodes, said, counted = nodes_of_pods(cluster), scheduler.log(), extender.metrics()

    assert sorted(nodes) == sorted(FREEST)
    assert wrong_placements(cluster) == []
    # Neither a failure nor a timeout: nothing had to be asked a second time.
    assert failures(said) == []
    for verb in ("filter", "prioritize"):
        assert f'custom_scheduler_extender_duration_seconds_count{{verb="{verb}"}} {PODS:.1f}\n' in counted


def nodes_of_pods(cluster: DevCluster) -> list[str]:
    return [each["spec"].get("nodeName", "") for each in cluster.request("GET", PODS_PATH)["items"]]


def failures(log: str) -> list[str]:
    """Return the lines of kube-scheduler's log about an attempt or an extender that failed or took too long."""
    told = "Error scheduling pod|Skipping extender|Failed to run extender|deadline exceeded|Client.Timeout"
    return re.findall(f"^.*(?:{told}).*$", log, re.MULTILINE)
