"""`custom-scheduler binder`, apart from the webhook: two of them, of which one schedules."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from devcluster.ops import ask_ops
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.e2e.objects import get, pod
from tests.waiting import eventually

OPT_IN = {"custom-scheduler.io/opt-in": "true"}


class Binder:
    """One `custom-scheduler binder` with the rights of the ServiceAccount in the manifests."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str) -> None:
        self.ops_port = free_port()
        command = [
            *(sys.executable, "-m", "webhook", "binder", "--kubeconfig", str(kubeconfig)),
            *("--namespace", "custom-scheduler", "--ops-host", "127.0.0.1", "--ops-port", str(self.ops_port)),
            *options,
        ]
        with log.open("wb") as output:
            self.process = subprocess.Popen(tethered(command), stdout=output, stderr=output)

    def ready(self) -> bool:
        return ask_ops(self.ops_port, "/readyz")[0] == 200

    def end(self, signum: signal.Signals) -> int:
        self.process.send_signal(signum)
        return self.process.wait(30)


@pytest.fixture(scope="module")
def apart() -> Iterator[DevCluster]:
    """A control plane whose webhook runs without its binder thread."""
    with DevCluster(nodes=0) as cluster:
        cluster.add_nodes(["node-1", "node-2"], labels={"custom": "yes"})
        with Installation(cluster, options=["--no-binder"]):
            yield cluster


def place(cluster: DevCluster, name: str, *, seconds: float = 20) -> str:
    """Create a pod that opted in and return the node that it came to."""
    cluster.kubectl("apply", "-f", "-", input=pod("default", name, labels=OPT_IN))
    node: str = eventually(
        lambda: get(cluster, "pod", "default", name)["spec"].get("nodeName"), seconds=seconds
    )
    return node


def holder(cluster: DevCluster) -> str:
    lease = cluster.kubectl("get", "lease", "custom-scheduler", "-n", "custom-scheduler", "-o", "json")
    found: str = json.loads(lease.stdout)["spec"]["holderIdentity"]
    return found


HANGING_PLUGIN = """
import time
from webhook.scheduling.registry import plugin

@plugin("Hangs")
class Hangs:
    def __init__(self, args, handle):
        pass

    def filter_node(self, pod, node):
        print("the plugin hangs", flush=True)
        time.sleep(600)
"""
HANGING_PROFILE = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{directory: DIRECTORY}]
profiles: [{schedulerName: hanging, plugins: {multiPoint: {enabled: [{name: Hangs}]}}}]
"""


def test_a_second_signal_ends_a_binder_whose_plugin_hangs(apart: DevCluster, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/hangs.py").write_text(HANGING_PLUGIN)
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(HANGING_PROFILE.replace("DIRECTORY", str(tmp_path / "plugins")))
    kubeconfig = apart.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
    log = tmp_path / "binder.log"
    with ExitStack() as stack:
        binder = Binder(kubeconfig, log, "--scheduler-config", str(configuration))
        stack.callback(binder.process.kill)
        apart.kubectl("apply", "-f", "-", input=pod("default", "stuck", schedulerName="hanging"))
        eventually(lambda: "the plugin hangs" in log.read_text(), seconds=40)

        binder.process.send_signal(signal.SIGTERM)
        eventually(lambda: holder(apart) == "")

        assert binder.end(signal.SIGTERM) == 128 + signal.SIGTERM


def test_a_killed_leader_is_followed_by_the_other_which_binds_on(apart: DevCluster, tmp_path: Path) -> None:
    kubeconfig = apart.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
    with ExitStack() as stack:
        first = Binder(kubeconfig, tmp_path / "first.log")
        stack.callback(first.process.kill)
        eventually(first.ready)
        place(apart, "before")
        leader = holder(apart)
        second = Binder(kubeconfig, tmp_path / "second.log")
        stack.callback(second.process.kill)
        eventually(second.ready)

        first.end(signal.SIGKILL)
        # The Lease runs out after 15 s, and then the new leader waits for what the old one may still have sent.
        node = place(apart, "after", seconds=60)

        assert node in ("node-1", "node-2")
        assert holder(apart) not in ("", leader)
        assert second.end(signal.SIGTERM) == 0
        assert holder(apart) == ""
        assert "Traceback" not in (tmp_path / "second.log").read_text()
