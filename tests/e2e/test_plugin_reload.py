"""Plugins that come, change and go while pods are placed."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.objects import pod
from tests.e2e.placements import items, wrong_placements
from tests.waiting import eventually

# `make reloads` has a hundred.
RELOADS = int(os.environ.get("RELOADS", "10"))
PODS_PER_RELOAD = 20
WARM_UP = 6
# Files are looked at every other second or so.
pytestmark = pytest.mark.timeout(120 + 6 * RELOADS)
PR_SET_THP_DISABLE = 41  # linux/prctl.h
PODS = "/api/v1/namespaces/default/pods"

# Two plugins of one file: whatever decides on a pod is of one version.
PLUGINS = """
import logging
from webhook.scheduling.registry import plugin
from webhook.scheduling.status import SUCCESS

log = logging.getLogger("custom_scheduler.tried")

@plugin("First")
class First:
    def score_node(self, pod, node):
        self.scored = {version}
        return {version} % 100

    def reserve(self, pod, node_name):
        log.info("tried First %s %d", pod.metadata.name, {version})
        return SUCCESS

    def unreserve(self, pod, node_name):
        pass

@plugin("Second")
class Second:
    def filter_node(self, pod, node):
        return None

    def reserve(self, pod, node_name):
        log.info("tried Second %s %d", pod.metadata.name, {version})
        return SUCCESS

    def unreserve(self, pod, node_name):
        pass
"""
CONFIGURATION = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources:
- directory: {directory}
profiles:
- schedulerName: custom-scheduler
  plugins:
    multiPoint: {{enabled: [{{name: First}}, {{name: Second}}]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "pair.py").write_text(PLUGINS.format(version=0))
    (folder.parent / "scheduler.yaml").write_text(CONFIGURATION.format(directory=folder))
    return folder


@pytest.fixture(scope="module")
def reloading(folder: Path) -> Iterator[tuple[DevCluster, Installation]]:
    with DevCluster(scheduler=False) as cluster:
        cluster.add_nodes(
            [f"node-{number}" for number in range(1, 6)], capacity={"pods": "5000", "cpu": "500"}
        )
        options = ["--scheduler-config", str(folder.parent / "scheduler.yaml")]
        with no_huge_pages(), Installation(cluster, options=options) as installation:
            yield cluster, installation


@contextmanager
def no_huge_pages() -> Iterator[None]:
    """Keep the kernel from making 2 MiB of a few pages, in its own time, in the programs that are started meanwhile."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)


def memory_mib(installation: Installation) -> float:
    """Memory of the worker, which is the last of its line, that is of no file.

    How many other processes have the same libraries is no matter then.
    """
    worker = installation.process.pid
    while children := Path(f"/proc/{worker}/task/{worker}/children").read_text().split():
        worker = int(children[0])
    rollup = Path(f"/proc/{worker}/smaps_rollup").read_text()
    (kib,) = re.findall(r"^Anonymous:\s+(\d+) kB", rollup, flags=re.MULTILINE)
    return int(kib) / 1024


def create_pods(cluster: DevCluster, numbers: range) -> None:
    for number in numbers:
        manifest = json.loads(pod("default", f"pod-{number}", schedulerName="custom-scheduler"))
        cluster.request("POST", PODS, manifest)


def change(folder: Path, version: int) -> None:
    """Replace the plugins, or at every third time take them away."""
    if version % 3:
        fresh = folder / "pair.new"
        fresh.write_text(PLUGINS.format(version=version))
        fresh.rename(folder / "pair.py")
    else:
        (folder / "pair.py").unlink()


def await_reload(installation: Installation, seen: int) -> None:
    eventually(lambda: reloads(installation) > seen, f"a reload after {seen} others", seconds=30)


def reloads(installation: Installation) -> int:
    return len(re.findall(r"profile custom-scheduler: plugin First", installation.log_file.read_text()))


def nodes_of_pods(cluster: DevCluster) -> list[str]:
    return [item["spec"].get("nodeName", "") for item in items(cluster, PODS)]


def test_no_pod_is_lost_and_none_is_decided_on_by_two_versions(
    reloading: tuple[DevCluster, Installation], folder: Path
) -> None:
    cluster, installation = reloading
    for version in range(1, RELOADS + 1):
        seen = reloads(installation)
        change(folder, version)
        create_pods(cluster, range((version - 1) * PODS_PER_RELOAD, version * PODS_PER_RELOAD))
        await_reload(installation, seen)

    eventually(lambda: all(nodes_of_pods(cluster)), "all pods have their node", seconds=60)

    assert len(nodes_of_pods(cluster)) == RELOADS * PODS_PER_RELOAD
    assert wrong_placements(cluster) == []
    versions: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for plugin, name, version_seen in re.findall(
        r"tried (\w+) (\S+) (\d+)", installation.log_file.read_text()
    ):
        versions[name][plugin] = version_seen
    assert len(set().union(*(seen.values() for seen in versions.values()))) > RELOADS // 3
    assert all(len(seen) == 2 and len(set(seen.values())) == 1 for seen in versions.values())


def test_reloads_take_less_than_a_mebibyte(reloading: tuple[DevCluster, Installation], folder: Path) -> None:
    _, installation = reloading
    first = RELOADS + 1
    memory = []
    # The first ones fill what is kept once.
    for version in range(first, first + WARM_UP + RELOADS):
        seen = reloads(installation)
        change(folder, version)
        await_reload(installation, seen)
        memory.append(memory_mib(installation))

    print(f"memory in MiB after each reload: {[round(each, 1) for each in memory]}")
    assert memory[-1] - memory[WARM_UP - 1] < 1
