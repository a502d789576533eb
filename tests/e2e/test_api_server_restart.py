"""The API server goes away and comes back: admission goes on, and the binder finds its way back."""

from __future__ import annotations

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import get, pod
from tests.waiting import eventually


def test_a_restarted_api_server_finds_webhook_and_binder_at_work(
    cluster: DevCluster, installation: Installation, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")

    cluster.stop_apiserver()
    away = installation.ops("/readyz")
    cluster.start_apiserver()

    denied = cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"), check=False)
    labels = {"custom": "web", "custom-scheduler.io/opt-in": "true"}
    cluster.kubectl("apply", "-f", "-", input=pod(home, "placed", labels=labels))
    node = eventually(lambda: get(cluster, "pod", home, "placed")["spec"].get("nodeName"), seconds=60)
    assert away == (200, "ok\n")
    assert denied.returncode == 1
    assert "Pod must have custom label" in denied.stderr
    assert node
    assert installation.process.poll() is None
