"""The plugin MemoryUsage with metrics.k8s.io served by the API server, and the rights of the manifests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from devcluster.metrics import report_memory, serve_node_metrics
from tests.e2e.objects import get, pod
from tests.e2e.placements import wrong_placements
from tests.waiting import eventually

CONFIGURATION = """\
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
profiles:
- schedulerName: custom-scheduler
  plugins:
    multiPoint:
      enabled: [{name: NodeLabel}]
    score:
      disabled: [{name: "*"}]
      enabled: [{name: MemoryUsage}]
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    """A control plane that measures its nodes; the scheduler ranks them by nothing else."""
    configuration = tmp_path_factory.mktemp("scheduler") / "config.yaml"
    configuration.write_text(CONFIGURATION)
    with DevCluster() as cluster:
        cluster.add_nodes(["full", "half", "free"], labels={"custom": "yes"})
        cluster.add_node("freest-without-the-label")
        serve_node_metrics(cluster)
        report_memory(
            cluster, {"full": "30Gi", "half": "16Gi", "free": "2Gi", "freest-without-the-label": "1Gi"}
        )
        with Installation(cluster, options=["--scheduler-config", str(configuration)]) as installation:
            eventually(
                lambda: (
                    _metric(installation, "custom_scheduler_node_metrics_age_seconds") not in {None, "+Inf"}
                )
            )
            yield cluster


def _metric(installation: Installation, name: str) -> str | None:
    lines = installation.ops("/metrics")[1].splitlines()
    return next((line.split()[-1] for line in lines if line.startswith(f"{name} ")), None)


def test_a_pod_that_names_us_goes_to_the_labelled_node_with_the_least_memory_in_use(
    measured: DevCluster,
) -> None:
    measured.kubectl("apply", "-f", "-", input=pod("default", "nginx", schedulerName="custom-scheduler"))

    def node() -> str | None:
        found: str | None = get(measured, "pod", "default", "nginx")["spec"].get("nodeName")
        return found

    assert eventually(node) == "free"
    assert wrong_placements(measured) == []
