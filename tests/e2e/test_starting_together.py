"""Processes of `serve` that start at the same moment on an empty cluster end with one CA and one binder."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from devcluster.cluster import DevCluster
from devcluster.installation import MANIFESTS
from devcluster.ops import ask_ops
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.e2e.objects import pod
from tests.e2e.placements import audit_flags, bindings, items, wrong_placements
from tests.waiting import eventually

PODS = 50
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NAMESPACED = "namespaces/custom-scheduler"
SECRETS = f"/api/v1/{NAMESPACED}/secrets"
LEASES = f"/apis/coordination.k8s.io/v1/{NAMESPACED}/leases"


class Replica:
    """One `serve` with a binder thread, which waits for the starting signal."""

    def __init__(self, number: int, kubeconfig: Path, folder: Path, signal: int) -> None:
        self.name = f"replica-{number}"
        self.port, self.ops_port = free_port(), free_port()
        self.log = folder / f"{self.name}.log"
        command = [
            *(sys.executable, "-m", "tests.e2e.start_together", str(signal), "serve"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--ops-host", "127.0.0.1", "--ops-port", str(self.ops_port)),
            *("--kubeconfig", str(kubeconfig), "--policy", str(MANIFESTS / "base/policy.yaml")),
            *("--namespace", "custom-scheduler", "--replica", self.name, "--drain-seconds", "0", "--binder"),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                tethered(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[signal]
            )

    def is_waiting(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return "waiting" in self.log.read_text()

    def ops(self, path: str) -> tuple[int, str]:
        assert self.process.poll() is None, self.log.read_text()
        return ask_ops(self.ops_port, path)

    def is_ready(self) -> bool:
        return self.ops("/readyz")[0] == 200

    def leads(self) -> bool:
        return 'leader_election_master_status{name="custom-scheduler"} 1.0' in self.ops("/metrics")[1]

    def certificate(self, bundle: bytes) -> x509.Certificate:
        """Return what it serves; fails unless it is valid for localhost by this caBundle."""
        context = ssl.create_default_context(cadata=bundle.decode())
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            served = connection.getpeercert(binary_form=True)
        assert served is not None
        return x509.load_der_x509_certificate(served)

    def bound(self) -> list[str]:
        return re.findall(r"Bound default/(\S+) to ", self.log.read_text())


@contextmanager
def empty_cluster(audit_log: Path) -> Iterator[DevCluster]:
    """A control plane with the manifests applied, pods that wait, and no process of ours yet."""
    with DevCluster(scheduler=False, apiserver_flags=audit_flags(audit_log)) as cluster:
        cluster.add_nodes([f"node-{number}" for number in range(5)], labels={"custom": "yes"})
        cluster.kubectl("apply", "-k", str(MANIFESTS / "overlays/devcluster"))
        create = partial(cluster.request, "POST", "/api/v1/namespaces/default/pods")
        manifests = [
            json.loads(pod("default", f"pod-{number}", schedulerName="custom-scheduler"))
            for number in range(PODS)
        ]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(create, manifests))
        assert not secrets(cluster)
        yield cluster


@contextmanager
def started_together(number: int, cluster: DevCluster, folder: Path) -> Iterator[list[Replica]]:
    """Have so many replicas begin within a moment."""
    kubeconfig = cluster.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
    waiting, signal = os.pipe()
    with ExitStack() as stack:
        replicas = []
        try:
            for each in range(number):
                replicas.append(replica := Replica(each, kubeconfig, folder, waiting))
                stack.callback(replica.process.wait, 30)
                stack.callback(replica.process.terminate)
            for replica in replicas:
                eventually(replica.is_waiting, f"{replica.name} to be imported", seconds=60)
        finally:
            os.close(waiting)
            os.close(signal)
        yield replicas


def secrets(cluster: DevCluster) -> list[Any]:
    return [each for each in items(cluster, SECRETS) if each["metadata"]["name"] == "custom-scheduler-ca"]


def bundles(cluster: DevCluster) -> set[bytes]:
    return {
        base64.b64decode(entry["clientConfig"].get("caBundle", ""))
        for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
        for entry in cluster.request("GET", f"{ADMISSION}/{kind}/custom-scheduler")["webhooks"]
    }


def all_bound(cluster: DevCluster) -> bool:
    pods = items(cluster, "/api/v1/namespaces/default/pods")
    return len(pods) == PODS and all(each["spec"].get("nodeName") for each in pods)


def assert_one_ca(cluster: DevCluster, replicas: Sequence[Replica]) -> None:
    """One CA in the Secret, in every caBundle, above every certificate that is served, in every replica's Lease."""
    (secret,) = secrets(cluster)
    (authority,) = x509.load_pem_x509_certificates(base64.b64decode(secret["data"]["ca.crt"]))
    (bundle,) = bundles(cluster)
    assert x509.load_pem_x509_certificates(bundle) == [authority]
    assert set(secret["data"]) == {"ca.crt", "ca.key"}
    served = [replica.certificate(bundle) for replica in replicas]
    for leaf in served:
        leaf.verify_directly_issued_by(authority)
    assert len({leaf.serial_number for leaf in served}) == len(replicas)
    told = {
        each["metadata"]["name"]: each["spec"]["holderIdentity"]
        for each in items(cluster, LEASES)
        if each["metadata"]["name"].startswith("custom-scheduler-replica-")
    }
    assert set(told) == {f"custom-scheduler-replica-{replica.name}" for replica in replicas}


def assert_one_binder(cluster: DevCluster, replicas: Sequence[Replica], audit_log: Path) -> None:
    """One replica leads; it has bound every pod, each once, and nobody else any."""
    (leader,) = (replica for replica in replicas if replica.leads())
    assert Counter(leader.bound()) == Counter(f"pod-{number}" for number in range(PODS))
    assert [replica.name for replica in replicas if replica.bound()] == [leader.name]
    bound = bindings(audit_log)
    assert len(bound) == PODS
    assert wrong_placements(cluster, bindings=bound) == []


@pytest.mark.parametrize("number", [2, 10])
def test_they_end_with_one_ca_and_one_binder(number: int, tmp_path: Path) -> None:
    audit_log = tmp_path / "audit.log"
    with (
        empty_cluster(audit_log) as cluster,
        started_together(number, cluster, tmp_path) as replicas,
    ):
        for replica in replicas:
            eventually(replica.is_ready, f"{replica.name} to be ready", seconds=60)
        eventually(partial(all_bound, cluster), "every pod on a node", seconds=60)

        assert_one_ca(cluster, replicas)
        assert_one_binder(cluster, replicas, audit_log)
        assert not [each.name for each in replicas if "Traceback" in each.log.read_text()]
