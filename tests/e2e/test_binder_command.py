"""`custom-scheduler binder`, apart from the webhook: two of them, of which one schedules."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from devcluster.ops import ask_ops
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.e2e.objects import get, pod
from tests.e2e.placements import audit_flags, bindings, items, wrong_placements
from tests.waiting import eventually
from webhook.binder.binding import THREADS as BIND_THREADS

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
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def apart(audit_log: Path) -> Iterator[DevCluster]:
    """A control plane whose webhook runs without its binder thread, and where bindings are noted."""
    with DevCluster(nodes=0, apiserver_flags=audit_flags(audit_log)) as cluster:
        # Who doesn't know of pods that others have bound would put too many on the second.
        for name, most_pods in (("node-1", "110"), ("node-2", "95")):
            cluster.add_node(name, labels={"custom": "yes"}, capacity={"pods": most_pods})
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


# One of its threads never gets to bind a pod, and another never gets to say that it has bound one.
HOLDING_PLUGIN = """
import itertools
import threading
from webhook.scheduling.registry import plugin
from webhook.scheduling.status import SUCCESS

@plugin("Holds")
class Holds:
    def __init__(self, args, handle):
        self.asked = {"pre_bind": itertools.count(), "post_bind": itertools.count()}

    def hold(self, point, pod):
        if next(self.asked[point]) == 20:
            print("held at", point, pod.metadata.name, flush=True)
            threading.Event().wait()

    def pre_bind(self, pod, node_name):
        self.hold("pre_bind", pod)
        return SUCCESS

    def post_bind(self, pod, node_name):
        self.hold("post_bind", pod)
"""
HOLDING_PROFILE = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{directory: DIRECTORY}]
profiles: [{schedulerName: custom-scheduler, plugins: {multiPoint: {enabled: [{name: Holds}]}}}]
"""
PODS = [f"stream-{number}" for number in range(200)]


def test_a_leader_killed_amid_a_stream_of_pods_is_followed_by_another_and_each_pod_is_bound_once(
    apart: DevCluster, audit_log: Path, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/holds.py").write_text(HOLDING_PLUGIN)
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(HOLDING_PROFILE.replace("DIRECTORY", str(tmp_path / "plugins")))
    kubeconfig = apart.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
    log = tmp_path / "first.log"

    def create(name: str) -> str:
        manifest = json.loads(pod("default", name, labels=OPT_IN))
        uid: str = apart.request("POST", "/api/v1/namespaces/default/pods", manifest)["metadata"]["uid"]
        return uid

    def all_bound() -> bool:
        pods = {each["metadata"]["name"]: each for each in items(apart, "/api/v1/namespaces/default/pods")}
        return all(pods[name]["spec"].get("nodeName") for name in PODS)

    def bound_of(uids: set[str]) -> set[str]:
        return {each.uid for each in bindings(audit_log)} & uids

    with ExitStack() as stack:
        first = Binder(kubeconfig, log, "--scheduler-config", str(configuration))
        stack.callback(first.process.kill)
        eventually(first.ready)
        place(apart, "before")
        leader = holder(apart)
        second = Binder(kubeconfig, tmp_path / "second.log")
        stack.callback(second.process.kill)
        eventually(second.ready)

        with ThreadPoolExecutor(8) as pool:
            stream = [pool.submit(create, name) for name in PODS[:100]]
            eventually(lambda: log.read_text().count("held at") == 2, "pods in flight", seconds=60)
            stream += [pool.submit(create, name) for name in PODS[100:]]
            first.end(signal.SIGKILL)
            uids = {each.result() for each in stream}
        bound_by_the_first = bound_of(uids)
        # The Lease runs out after 15 s, and then the new leader waits for what the old one may still have sent.
        eventually(all_bound, "each pod has a node", seconds=90)

        # A binding is noted a moment after it shows. Not those that the kill has cut off, which may be carried out.
        eventually(lambda: len(bound_of(uids)) >= len(uids) - BIND_THREADS, "the bindings are noted")
        assert 0 < len(bound_by_the_first) < len(uids)
        assert wrong_placements(apart, bindings=bindings(audit_log)) == []
        assert holder(apart) not in ("", leader)
        assert second.end(signal.SIGTERM) == 0
        assert holder(apart) == ""
        assert "Traceback" not in (tmp_path / "second.log").read_text()
