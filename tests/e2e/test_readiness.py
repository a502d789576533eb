"""/readyz says yes when calls from the API server work, and else why they would not."""

from __future__ import annotations

import base64
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.waiting import eventually

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/custom-scheduler"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False, controller_manager=False) as cluster:
        yield cluster


@pytest.fixture
def installation(cluster: DevCluster) -> Iterator[Installation]:
    """An installation that is applied, and has never run."""
    installation = Installation(cluster, options=["--no-binder"])
    installation.apply_manifests()
    yield installation
    cluster.kubectl("delete", "secret", "custom-scheduler-ca", "-n", "custom-scheduler", "--ignore-not-found")
    for kind in ("validating", "mutating"):
        cluster.kubectl("delete", f"{kind}webhookconfiguration", "custom-scheduler")
    cluster.kubectl("delete", "clusterrole", "custom-scheduler")


@pytest.fixture
def running(installation: Installation) -> Iterator[Installation]:
    installation.start()
    yield installation
    installation.stop()


def allow(cluster: DevCluster, *verbs: str) -> None:
    """Let the webhook do this, and nothing else, with configurations."""
    role = cluster.request("GET", ROLE)
    role["rules"][0]["verbs"] = list(verbs)
    cluster.request("PUT", ROLE, role)


def answer(installation: Installation) -> tuple[int, str]:
    return installation.ops("/readyz")


def refused(installation: Installation, *, because: str) -> list[str]:
    """Wait until /readyz has this for a reason; return all of them."""
    eventually(lambda: because in answer(installation)[1], because)
    status, text = answer(installation)
    assert status == 503
    return text.splitlines()


def bundles(cluster: DevCluster) -> set[bytes]:
    entries: list[dict[str, Any]] = [
        entry
        for kind in ("validating", "mutating")
        for entry in cluster.request("GET", f"{CONFIGURATIONS}/{kind}webhookconfigurations/custom-scheduler")[
            "webhooks"
        ]
    ]
    return {base64.b64decode(entry["clientConfig"].get("caBundle", "")) for entry in entries}


def test_what_is_ready_serves_a_certificate_by_the_ca_that_every_entry_carries(
    cluster: DevCluster, running: Installation
) -> None:
    eventually(lambda: answer(running) == (200, "ok\n"))

    (bundle,) = bundles(cluster)
    context = ssl.create_default_context(cadata=bundle.decode())
    with (
        socket.create_connection(("127.0.0.1", running.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        assert connection.version() == "TLSv1.3"


def test_a_configuration_that_may_not_be_read_is_a_reason(
    cluster: DevCluster, installation: Installation
) -> None:
    allow(cluster, "patch")
    installation.start()
    try:
        reasons = refused(installation, because="it can't be mended yet")
        allow(cluster, "get", "list", "watch", "patch")
        eventually(lambda: answer(installation)[0] == 200, seconds=60)
    finally:
        installation.stop()

    assert reasons[:2] == [
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet",
        "caBundle of MutatingWebhookConfiguration custom-scheduler not looked at yet",
    ]
    assert "validatingwebhookconfigurations.admissionregistration.k8s.io" in reasons[2]
    assert "cannot get resource" in reasons[2]


def test_a_configuration_that_does_not_carry_our_ca_is_a_reason(
    cluster: DevCluster, installation: Installation
) -> None:
    allow(cluster, "get", "list", "watch")
    installation.start()
    try:
        validating, mutating = refused(installation, because="is not our CA")
        assert bundles(cluster) == {b""}
        allow(cluster, "get", "list", "watch", "patch")
        eventually(lambda: answer(installation)[0] == 200, seconds=60)
    finally:
        installation.stop()

    for reason, entry in ((validating, "deny.pods"), (mutating, "mutate.pods")):
        assert reason.startswith(f"caBundle of {entry}.custom-scheduler.io, ")
        assert "cannot patch resource" in reason


def test_without_a_policy_nothing_starts_and_a_worse_one_later_changes_nothing(
    cluster: DevCluster, installation: Installation, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("kind: Nonsense\n")
    strict = Installation(cluster, policy=policy, options=["--no-binder"])
    ended = subprocess.run(strict.command(), capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, str(policy) in ended.stderr) == (2, True)

    policy.write_text((Path(__file__).parents[2] / "manifests/base/policy.yaml").read_text())
    strict.start()
    try:
        eventually(lambda: answer(strict)[0] == 200)
        policy.write_text("kind: Nonsense\n")
        eventually(lambda: "custom_scheduler_policy_refused 1.0" in strict.ops("/metrics")[1])
        assert answer(strict) == (200, "ok\n")
    finally:
        strict.stop()


def test_an_api_server_that_goes_away_later_is_no_reason(cluster: DevCluster, running: Installation) -> None:
    eventually(lambda: answer(running)[0] == 200)

    cluster.stop_apiserver()
    try:
        assert answer(running) == (200, "ok\n")
    finally:
        cluster.start_apiserver()
