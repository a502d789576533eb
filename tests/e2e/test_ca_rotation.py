"""One CA follows another under traffic, with failurePolicy Fail and two replicas: no call fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.traffic import Traffic
from tests.program import certs_rotate, certs_show, custom_scheduler, signer
from tests.waiting import eventually

OPTIONS = ("--no-binder", "--ca-settle-seconds", "3")
DENIED, ALLOWED = "enforced", "watched"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        for namespace, mode in ((DENIED, "deny"), (ALLOWED, "warn")):
            cluster.add_namespace(namespace, labels={"custom-scheduler.io/enforce": mode})
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


def carries(cluster: DevCluster) -> bool:
    return all(entry["carries"] for entry in certs_show(cluster)["entries"])


@contextmanager
def called(cluster: DevCluster) -> Iterator[tuple[Traffic, Traffic]]:
    """Call both replicas all through the block, and fail if a call did."""
    with (
        closing(Traffic(cluster, DENIED, rate=50, threads=2)) as one,
        closing(Traffic(cluster, ALLOWED, answer="admitted", rate=50, threads=2)) as two,
    ):
        yield one, two
    assert (one.failures, two.failures) == ([], [])


def test_a_rotation_under_traffic_fails_no_call(cluster: DevCluster, replicas: list[Installation]) -> None:
    before = signer(certs_show(cluster))

    with called(cluster) as (one, two):
        eventually(lambda: min(one.calls, two.calls) > 20)
        said = certs_rotate(cluster)
        in_between = certs_show(cluster)["phase"]
        eventually(lambda: certs_show(cluster)["phase"] == "stable", seconds=60)
        after_the_end = one.calls, two.calls
        eventually(lambda: one.calls > after_the_end[0] + 20 and two.calls > after_the_end[1] + 20)

    after = certs_show(cluster)
    assert before[:12] in said
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
    eventually(lambda: certs_show(cluster)["phase"] == "stable", seconds=60)
    certs_rotate(cluster)

    where = ("--kubeconfig", cluster.kubeconfig)
    second = custom_scheduler("certs", "rotate", *where)

    assert second.returncode == 1
    assert "a rotation is under way" in second.stdout + second.stderr
    assert "phase" in custom_scheduler("certs", "show", *where).stdout
    eventually(lambda: certs_show(cluster)["phase"] == "stable", seconds=60)


def test_a_secret_deleted_in_the_middle_of_a_rotation_fails_no_call(
    cluster: DevCluster, replicas: list[Installation]
) -> None:
    eventually(lambda: certs_show(cluster)["phase"] == "stable", seconds=60)
    with called(cluster):
        certs_rotate(cluster)
        eventually(lambda: carries(cluster))
        cluster.kubectl("delete", "secret", "custom-scheduler-ca", "-n", "custom-scheduler")
        restored = ["get", "secret", "custom-scheduler-ca", "-n", "custom-scheduler"]
        eventually(lambda: cluster.kubectl(*restored, check=False).returncode == 0, seconds=60)
        eventually(lambda: certs_show(cluster)["phase"] == "stable", seconds=60)


def test_a_replica_that_stops_takes_its_lease_along(
    cluster: DevCluster, replicas: list[Installation]
) -> None:
    replicas[1].stop()
    try:
        assert [each["name"] for each in certs_show(cluster)["replicas"]] == ["one"]
    finally:
        replicas[1].start()
        replicas[1].wait_ready()
