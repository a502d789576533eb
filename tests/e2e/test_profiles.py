"""Several profiles in one binder: the same pod goes where the profile that it names would have it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from tests.e2e.extended import binder_kubeconfig
from tests.e2e.objects import get, pod, pod_events, scheduled_condition
from tests.e2e.placements import wrong_placements
from tests.e2e.test_binder_command import Binder
from tests.program import custom_scheduler
from tests.waiting import eventually

PLUGIN = """
from webhook.scheduling.registry import plugin

@plugin("Favourite")
class Favourite:
    def score_node(self, pod, node):
        return 100 if node.name == "half" else 0
"""
# The last two differ in nothing but weights.
CONFIGURATION = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{directory: DIRECTORY}]
profiles:
- schedulerName: spreading
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit}]
- schedulerName: packing
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
- schedulerName: favouring
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 1}, {name: Favourite, weight: 9}]
- schedulerName: hardly-favouring
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 9}, {name: Favourite, weight: 1}]
"""
# What is on a node already, of its 4 cpu.
TAKEN = {"full": "3", "half": "2", "empty": None}
PLACES = {"spreading": "empty", "packing": "full", "favouring": "half", "hardly-favouring": "empty"}


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profiles")
    (folder / "plugins").mkdir()
    (folder / "plugins/favourite.py").write_text(PLUGIN)
    file = folder / "scheduler.yaml"
    file.write_text(CONFIGURATION.replace("DIRECTORY", str(folder / "plugins")))
    return file


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        for name, taken in TAKEN.items():
            cluster.add_node(name)
            if taken is not None:
                create(cluster, pod("default", f"on-{name}", cpu=taken, nodeName=name))
        yield cluster


@pytest.fixture(scope="module")
def binder(cluster: DevCluster, configuration: Path) -> Iterator[Binder]:
    log = configuration.with_name("binder.log")
    binder = Binder(binder_kubeconfig(cluster), log, "--scheduler-config", str(configuration))
    try:
        eventually(binder.ready)
        yield binder
    finally:
        binder.process.terminate()
        binder.process.wait(30)


def create(cluster: DevCluster, manifest: str) -> None:
    cluster.request("POST", "/api/v1/namespaces/default/pods", json.loads(manifest))


def test_each_pod_is_placed_by_the_profile_that_it_names_and_by_none_if_it_names_none_of_ours(
    cluster: DevCluster, binder: Binder
) -> None:
    create(cluster, pod("default", "alone", schedulerName="nobodys"))
    names = [(profile, f"{profile}-{number}") for number in range(3) for profile in PLACES]
    for profile, name in names:
        create(cluster, pod("default", name, schedulerName=profile))

    nodes = {
        name: eventually(lambda: get(cluster, "pod", "default", name)["spec"].get("nodeName"))  # noqa: B023
        for _, name in names
    }

    assert nodes == {name: PLACES[profile] for profile, name in names}
    assert wrong_placements(cluster) == []
    alone = get(cluster, "pod", "default", "alone")
    assert "nodeName" not in alone["spec"]
    assert scheduled_condition(alone) is None
    assert pod_events(cluster, "default", "alone") == []


def test_a_plugin_tells_which_profiles_use_it_and_how(binder: Binder, configuration: Path) -> None:
    described = custom_scheduler("plugins", "describe", "Favourite", "--scheduler-config", configuration)
    listed = custom_scheduler("plugins", "list", "--from", f"http://127.0.0.1:{binder.ops_port}")

    uses = dict(re.findall(r"^Profile (\S+)\n  at score\n  weight (\d+)$", described.stdout, re.MULTILINE))
    assert uses == {"favouring": "9", "hardly-favouring": "1"}
    assert re.search(r"^ *Favourite +in use ", listed.stdout, re.MULTILINE)
