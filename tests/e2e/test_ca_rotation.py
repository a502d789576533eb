"""One CA follows another under traffic, with failurePolicy Fail and two replicas: no call fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from devcluster.cluster import DevCluster
from devcluster.errors import RequestError
from devcluster.installation import Installation
from tests.e2e.objects import pod
from tests.waiting import eventually

OPTIONS = ("--no-binder", "--ca-settle-seconds", "3")
DENIED, ALLOWED = "enforced", "watched"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        for namespace, mode in ((DENIED, "deny"), (ALLOWED, "warn")):
            cluster.kubectl("create", "namespace", namespace)
            cluster.kubectl("label", "namespace", namespace, f"custom-scheduler.io/enforce={mode}")
            cluster.kubectl(
                "wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=20s"
            )
        yield cluster


@pytest.fixture(scope="module")
def replicas(cluster: DevCluster) -> Iterator[list[Installation]]:
    """Two replicas: the API server calls the first for one namespace and the second for the other."""
    with Installation(cluster, options=(*OPTIONS, "--replica", "one")) as one:
        two = Installation(cluster, options=(*OPTIONS, "--replica", "two"))
        two.start()
        try:
            two.wait_ready()
            call_second_for_warnings(cluster, two.port)
            eventually(lambda: carries(cluster))
            yield [one, two]
        finally:
            two.stop()


def call_second_for_warnings(cluster: DevCluster, port: int) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/custom-scheduler"
    configuration = cluster.request("GET", path)
    for entry in configuration["webhooks"]:
        entry["failurePolicy"] = "Fail"
        entry["timeoutSeconds"] = 10
        if entry["name"] == "warn.pods.custom-scheduler.io":
            entry["clientConfig"]["url"] = f"https://localhost:{port}/validate/warn"
    cluster.request("PUT", path, configuration)


def custom_scheduler(cluster: DevCluster, *arguments: str, code: int = 0) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "webhook", *arguments, "--kubeconfig", str(cluster.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout + ended.stderr


def shown(cluster: DevCluster) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(custom_scheduler(cluster, "certs", "show", "-o", "json"))
    return seen


def carries(cluster: DevCluster) -> bool:
    return all(entry["carries"] for entry in shown(cluster)["entries"])


def signer(seen: dict[str, Any]) -> str:
    (one,) = [each for each in seen["authorities"] if each["role"] == "signs"]
    return str(one["fingerprint"])


class Traffic:
    """Dry runs of pods in a namespace, one after another, and the answers that no good call gives."""

    def __init__(self, cluster: DevCluster, namespace: str) -> None:
        self.calls = 0
        self.failures: list[str] = []
        self._cluster = cluster
        self._namespace = namespace
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        body = json.loads(pod(self._namespace, "bare"))
        while not self._stopping.wait(0.01):
            self.calls += 1
            answer = "admitted"
            try:
                self._cluster.request("POST", f"/api/v1/namespaces/{self._namespace}/pods?dryRun=All", body)
            except RequestError as error:
                answer = "denied" if "Pod must have custom label" in str(error) else str(error)
            if answer != {DENIED: "denied", ALLOWED: "admitted"}[self._namespace]:
                self.failures.append(answer)


def test_a_rotation_under_traffic_fails_no_call(cluster: DevCluster, replicas: list[Installation]) -> None:
    before = signer(shown(cluster))

    with closing(Traffic(cluster, DENIED)) as one, closing(Traffic(cluster, ALLOWED)) as two:
        eventually(lambda: min(one.calls, two.calls) > 20)
        said = custom_scheduler(cluster, "certs", "rotate")
        in_between = shown(cluster)["phase"]
        eventually(lambda: shown(cluster)["phase"] == "stable", seconds=60)
        after_the_end = one.calls, two.calls
        eventually(lambda: one.calls > after_the_end[0] + 20 and two.calls > after_the_end[1] + 20)

    after = shown(cluster)
    assert before[:12] in said
    assert (one.failures, two.failures) == ([], [])
    assert signer(after) != before
    assert [each["fingerprint"] for each in after["authorities"]] == [signer(after)]
    assert {each["name"]: each["fingerprint"] for each in after["replicas"]} == {
        "one": signer(after),
        "two": signer(after),
    }
    assert in_between == "published"


def test_a_second_rotation_has_to_wait_for_the_first(
    cluster: DevCluster, replicas: list[Installation]
) -> None:
    eventually(lambda: shown(cluster)["phase"] == "stable", seconds=60)
    custom_scheduler(cluster, "certs", "rotate")

    said = custom_scheduler(cluster, "certs", "rotate", code=1)

    assert "a rotation is under way" in said
    assert "phase" in custom_scheduler(cluster, "certs", "show")
    eventually(lambda: shown(cluster)["phase"] == "stable", seconds=60)


def test_a_secret_deleted_in_the_middle_of_a_rotation_fails_no_call(
    cluster: DevCluster, replicas: list[Installation]
) -> None:
    eventually(lambda: shown(cluster)["phase"] == "stable", seconds=60)
    with closing(Traffic(cluster, DENIED)) as one, closing(Traffic(cluster, ALLOWED)) as two:
        custom_scheduler(cluster, "certs", "rotate")
        eventually(lambda: carries(cluster))
        cluster.kubectl("delete", "secret", "custom-scheduler-ca", "-n", "custom-scheduler")
        restored = ["get", "secret", "custom-scheduler-ca", "-n", "custom-scheduler"]
        eventually(lambda: cluster.kubectl(*restored, check=False).returncode == 0, seconds=60)
        eventually(lambda: shown(cluster)["phase"] == "stable", seconds=60)

    assert (one.failures, two.failures) == ([], [])


def test_a_replica_that_stops_takes_its_lease_along(
    cluster: DevCluster, replicas: list[Installation]
) -> None:
    replicas[1].stop()
    try:
        assert [each["name"] for each in shown(cluster)["replicas"]] == ["one"]
    finally:
        replicas[1].start()
        replicas[1].wait_ready()
