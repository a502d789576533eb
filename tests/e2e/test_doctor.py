"""`doctor` on a real cluster: it finds what is wrong, and proves that a denial works only when it does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certs.authority import create_authority
from certs.clock import utc_now
from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.program import custom_scheduler
from tests.waiting import eventually

VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/custom-scheduler"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        yield cluster


@pytest.fixture
def installation(cluster: DevCluster) -> Iterator[Installation]:
    # A webhook that starts beside the CA of others waits for as long.
    with Installation(cluster, options=["--ca-settle-seconds", "1"]) as installation:
        cluster.wait_for_account("custom-scheduler-probe")
        yield installation


def doctor(cluster: DevCluster, *options: str, kubeconfig: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Run `doctor` and return its exit code and report."""
    ended = custom_scheduler(
        "doctor", "--kubeconfig", kubeconfig or cluster.kubeconfig, "-o", "json", *options
    )
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def failing(report: dict[str, Any]) -> set[str]:
    return {each["subject"] for each in report["findings"] if each["level"] == "fail"}


def test_nothing_fails_in_an_installation_that_works(cluster: DevCluster, installation: Installation) -> None:
    def healthy() -> bool:
        return doctor(cluster)[0] == 0

    eventually(healthy, "a holder of the Lease")
    _, report = doctor(cluster)

    assert {each["subject"] for each in report["findings"]} >= {
        "registration",
        "failurePolicy",
        "CA",
        "caBundle",
        "policy",
        "permissions",
        "binder",
        "enforcement",
    }
    assert [each for each in report["findings"] if each["level"] != "ok"] == []


def test_a_denial_that_works_is_proven(cluster: DevCluster, installation: Installation) -> None:
    code, report = doctor(cluster, "--prove")

    assert (code, report["proof"]["outcome"]) == (0, "proven")
    pods = cluster.kubectl("get", "pods", "-n", "custom-scheduler-probe", "-o", "name")
    assert pods.stdout == ""


def test_a_webhook_that_is_down_proves_nothing_whatever_the_failure_policy(
    cluster: DevCluster, installation: Installation
) -> None:
    installation.stop()
    try:
        opened = doctor(cluster, "--prove")
        set_failure_policy(cluster, "Fail")
        closed = doctor(cluster, "--prove")
    finally:
        set_failure_policy(cluster, "Ignore")
        installation.start()
        installation.wait_ready()

    assert (opened[0], opened[1]["proof"]["outcome"]) == (1, "admitted")
    assert (closed[0], closed[1]["proof"]["outcome"]) == (1, "not called")


def test_a_wrong_ca_proves_nothing_and_is_named(cluster: DevCluster, installation: Installation) -> None:
    installation.stop()
    try:
        wrong = base64.b64encode(create_authority("wrong", utc_now()).bundle).decode()
        configuration = cluster.request("GET", VALIDATING)
        configuration["webhooks"][0]["clientConfig"]["caBundle"] = wrong
        cluster.request("PUT", VALIDATING, configuration)
        code, report = doctor(cluster, "--prove")
    finally:
        installation.start()
        installation.wait_ready()

    (finding,) = [each for each in report["findings"] if each["subject"] == "caBundle"]
    assert (code, report["proof"]["outcome"]) == (1, "admitted")
    assert "deny.pods.custom-scheduler.io" in finding["text"]
    assert doctor(cluster, "--prove")[0] == 0


def test_configurations_that_are_gone_are_named(cluster: DevCluster, installation: Installation) -> None:
    cluster.kubectl("delete", "validatingwebhookconfiguration", "custom-scheduler")
    try:
        code, report = doctor(cluster, "--prove")
    finally:
        installation.apply_manifests()
        eventually(lambda: installation.ops("/readyz")[0] == 200)

    assert (code, report["proof"]["outcome"]) == (1, "admitted")
    assert "registration" in failing(report)


def test_a_missing_right_and_a_bad_policy_are_named(cluster: DevCluster, installation: Installation) -> None:
    bad = {"data": {"policy.yaml": "kind: PlacementPolicy\nspec: {nonsense: 1}\n"}}
    cluster.kubectl("delete", "rolebinding", "custom-scheduler", "-n", "custom-scheduler")
    cluster.request("PATCH", "/api/v1/namespaces/custom-scheduler/configmaps/custom-scheduler-policy", bad)
    try:
        code, report = doctor(cluster)
    finally:
        installation.apply_manifests()

    said = [each["text"] for each in report["findings"] if each["subject"] == "permissions"]
    assert code == 1
    assert failing(report) >= {"permissions", "policy"}
    assert "ServiceAccount custom-scheduler/custom-scheduler may not get secrets custom-scheduler-ca" in said


def test_the_right_to_ask_is_told_from_what_is_wrong(cluster: DevCluster, installation: Installation) -> None:
    nobody = cluster.service_account_kubeconfig("custom-scheduler-probe", "default")

    code, report = doctor(cluster, "--prove", kubeconfig=nobody)

    assert (code, report["proof"]["outcome"]) == (1, "refused")
    assert all("can't be looked at" in each["text"] for each in report["findings"])


def set_failure_policy(cluster: DevCluster, value: str) -> None:
    configuration = cluster.request("GET", VALIDATING)
    configuration["webhooks"][0]["failurePolicy"] = value
    cluster.request("PUT", VALIDATING, configuration)
