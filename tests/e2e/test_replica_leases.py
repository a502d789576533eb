"""Leases of replicas and workers that end without a word."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.objects import pod
from tests.waiting import eventually

NAMESPACE = "custom-scheduler"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PREFIX = "custom-scheduler-replica-"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        yield cluster


def replicas(cluster: DevCluster) -> set[str]:
    names = [each["metadata"]["name"] for each in cluster.request("GET", LEASES)["items"]]
    return {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}


def workers(installation: Installation) -> list[int]:
    """Return the processes that the master has forked: the last of their line."""
    line = [installation.process.pid]
    while children := [int(each) for parent in line for each in children_of(parent)]:
        line = children
    return line


def children_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def restricted(name: str) -> str:
    """Return a pod that our namespace, which is under PodSecurity, admits."""
    manifest = json.loads(
        pod(
            NAMESPACE,
            name,
            securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        )
    )
    manifest["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    return json.dumps(manifest)


def kill(installation: Installation) -> None:
    """End it as a lost node does: nobody has the time to say anything."""
    running = workers(installation)
    installation.process.send_signal(signal.SIGSTOP)  # or it would replace the worker
    for worker in running:
        os.kill(worker, signal.SIGKILL)
    installation.process.kill()
    installation.process.wait()


def version(cluster: DevCluster, replica: str) -> str:
    return str(cluster.request("GET", f"{LEASES}/{PREFIX}{replica}")["metadata"]["resourceVersion"])


def test_a_worker_takes_over_the_lease_of_the_one_that_it_replaces(cluster: DevCluster) -> None:
    options = ("--no-binder", "--replica", "one", "--workers", "2")
    with Installation(cluster, options=options) as installation:
        eventually(lambda: replicas(cluster) == {"one-0", "one-1"})
        before = {name: version(cluster, name) for name in ("one-0", "one-1")}
        killed, *_ = workers(installation)

        os.kill(killed, signal.SIGKILL)

        eventually(lambda: killed not in workers(installation) and len(workers(installation)) == 2)
        # Whichever it was: the next one tells at its first look.
        eventually(lambda: any(version(cluster, name) != told for name, told in before.items()))
        assert replicas(cluster) == {"one-0", "one-1"}

    assert replicas(cluster) == set()


def test_the_lease_of_a_pod_that_is_gone_goes_with_it(cluster: DevCluster) -> None:
    with Installation(cluster, options=("--no-binder", "--replica", "stays")):
        cluster.wait_for_account(NAMESPACE)
        cluster.kubectl("apply", "-f", "-", input=restricted("lost"))
        uid = json.loads(cluster.kubectl("get", "pod", "lost", "-n", NAMESPACE, "-o", "json").stdout)[
            "metadata"
        ]["uid"]
        lost = Installation(cluster, options=("--no-binder", "--replica", "lost", "--pod-uid", uid))
        lost.start()
        try:
            lost.wait_ready()
        finally:
            kill(lost)
        assert replicas(cluster) == {"stays", "lost"}

        cluster.kubectl("delete", "pod", "lost", "-n", NAMESPACE, "--grace-period=0", "--force")

        eventually(lambda: replicas(cluster) == {"stays"})
