"""A devcluster for real: etcd, kube-apiserver, kube-scheduler and kube-controller-manager."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from devcluster import DevCluster, RequestError, StartError, Taint
from devcluster.build import COMPONENTS, ensure_built, say_on_stderr
from devcluster.version import read_versions
from tests.devcluster.traces import processes_naming
from tests.waiting import eventually

pytestmark = pytest.mark.e2e

_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(nodes=3) as cluster:
        yield cluster


def test_it_is_the_version_that_go_mod_names(cluster: DevCluster) -> None:
    version = cluster.request("GET", "/version")

    assert version["gitVersion"] == read_versions().kubernetes
    assert (version["major"], version["minor"]) == read_versions().kubernetes_minor


def test_the_nodes_are_there_and_ready(cluster: DevCluster) -> None:
    result = cluster.kubectl(
        "wait", "--for=condition=Ready", "nodes", "node-1", "node-2", "node-3", "--timeout=0"
    )

    assert result.stdout.count("condition met") == 3


def test_a_node_is_as_asked_for(cluster: DevCluster) -> None:
    cluster.add_node("big", labels={"custom": "yes"}, taints=[Taint(key="dedicated")], capacity={"cpu": "64"})

    node = json.loads(cluster.kubectl("get", "node", "big", "-o", "json").stdout)
    assert node["metadata"]["labels"]["custom"] == "yes"
    assert node["spec"]["taints"] == [{"key": "dedicated", "effect": "NoSchedule"}]
    assert node["status"]["allocatable"]["cpu"] == "64"
    cluster.kubectl("delete", "node", "big")


def test_a_node_that_exists_already_is_a_fault(cluster: DevCluster) -> None:
    with pytest.raises(RequestError, match='409: nodes "node-1" already exists') as caught:
        cluster.add_node("node-1")

    assert caught.value.status == 409


def test_a_namespace_has_its_labels_and_takes_pods_at_once(cluster: DevCluster) -> None:
    cluster.add_namespace("team-a", labels={"team": "a"})

    cluster.request("POST", "/api/v1/namespaces/team-a/pods", _POD)
    assert cluster.request("GET", "/api/v1/namespaces/team-a")["metadata"]["labels"]["team"] == "a"


def test_a_pod_is_scheduled_and_a_deployment_gets_its_pods(cluster: DevCluster) -> None:
    cluster.kubectl("create", "deployment", "web", "--image=web", "--replicas=3")

    def nodes() -> list[str]:
        pods = cluster.request("GET", "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb")
        return [name for pod in pods["items"] if (name := pod["spec"].get("nodeName"))]

    eventually(lambda: len(nodes()) == 3, seconds=20, what="three pods are bound")
    cluster.kubectl("delete", "deployment", "web")


def test_kubectl_knows_no_other_cluster_and_no_other_settings(
    cluster: DevCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    result = cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[*].cluster.server}")

    assert result.stdout == cluster.url


def test_a_failing_kubectl_raises_with_what_it_said(cluster: DevCluster) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        cluster.kubectl("get", "pod", "missing")

    assert caught.value.__notes__ == ['Error from server (NotFound): pods "missing" not found']


def test_kubectl_reads_its_input(cluster: DevCluster) -> None:
    result = cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(_POD))

    assert result.stdout == "pod/web created (server dry run)\n"


def test_the_servers_certificate_is_verified_by_the_clusters_authority_alone(cluster: DevCluster) -> None:
    verified = ssl.create_default_context(cafile=str(cluster.ca_file))
    with urllib3.PoolManager(ssl_context=verified, retries=False) as pool:
        assert pool.request("GET", f"{cluster.url}/readyz").data == b"ok"

    with (
        urllib3.PoolManager(retries=False) as pool,
        pytest.raises(urllib3.exceptions.SSLError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        pool.request("GET", f"{cluster.url}/readyz")


def test_no_file_of_the_cluster_turns_verification_off(cluster: DevCluster) -> None:
    kubeconfigs = list(cluster.kubeconfig.parent.iterdir())

    assert len(kubeconfigs) >= 3
    for path in kubeconfigs:
        for entry in yaml.safe_load(path.read_text())["clusters"]:
            assert set(entry["cluster"]) == {"server", "certificate-authority-data"}


def test_a_stranger_may_do_nothing(cluster: DevCluster) -> None:
    verified = ssl.create_default_context(cafile=str(cluster.ca_file))

    with urllib3.PoolManager(ssl_context=verified, retries=False) as pool:
        answer = pool.request("GET", f"{cluster.url}/api/v1/namespaces/default/secrets")

    assert answer.status == 403


def test_a_service_accounts_kubeconfig_can_do_what_its_roles_say_and_no_more(cluster: DevCluster) -> None:
    cluster.kubectl("create", "serviceaccount", "reader")
    cluster.kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    cluster.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader")

    kubeconfig = cluster.service_account_kubeconfig("default", "reader")

    who = cluster.kubectl(
        "--kubeconfig", kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"
    )
    assert who.stdout == "system:serviceaccount:default:reader"
    assert cluster.kubectl("--kubeconfig", kubeconfig, "get", "pods").returncode == 0
    refused = cluster.kubectl("--kubeconfig", kubeconfig, "get", "secrets", check=False)
    assert "Forbidden" in refused.stderr


def test_a_missing_service_account_is_a_fault(cluster: DevCluster) -> None:
    with pytest.raises(RequestError, match='404: serviceaccounts "missing" not found'):
        cluster.service_account_kubeconfig("default", "missing")


def test_the_api_server_comes_back_on_its_port_with_its_data(cluster: DevCluster) -> None:
    cluster.kubectl("create", "configmap", "before", "--from-literal=key=value")
    url = cluster.url

    cluster.stop_apiserver()

    verified = ssl.create_default_context(cafile=str(cluster.ca_file))
    with (
        urllib3.PoolManager(ssl_context=verified, retries=False) as pool,
        pytest.raises(urllib3.exceptions.NewConnectionError, match="refused"),
    ):
        pool.request("GET", f"{url}/readyz")

    cluster.start_apiserver()

    assert cluster.url == url
    assert cluster.kubectl("get", "configmap", "before", "-o", "jsonpath={.data.key}").stdout == "value"


def test_every_component_writes_a_log(cluster: DevCluster) -> None:
    assert {path.stem for path in cluster.logs.iterdir()} == set(COMPONENTS)


def test_instances_started_together_do_not_meet() -> None:
    clusters = [DevCluster(scheduler=False, controller_manager=False) for _ in range(2)]
    started = threading.Barrier(len(clusters), timeout=60)
    found: list[str] = []

    def use(number: int) -> None:
        with clusters[number] as cluster:
            cluster.add_node(f"of-{number}")
            started.wait()
            found.append(cluster.kubectl("get", "nodes", "-o", "name").stdout.strip())

    threads = [threading.Thread(target=use, args=[number]) for number in range(len(clusters))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == ["node/of-0", "node/of-1"]


def test_without_a_controller_manager_pods_need_no_service_account() -> None:
    with DevCluster(scheduler=False, controller_manager=False) as cluster:
        result = cluster.kubectl("apply", "-f", "-", input=json.dumps(_POD))

        assert result.stdout == "pod/web created\n"
        assert {path.stem for path in cluster.logs.iterdir()} == {"etcd", "kube-apiserver"}


def test_flags_for_the_api_server_come_last_and_a_wrong_one_is_told() -> None:
    with (
        pytest.raises(StartError, match=r"^kube-apiserver ended with 1: Error: unknown flag: --nonsense$"),
        DevCluster(apiserver_flags=["--nonsense"]),
    ):
        pytest.fail("it started")


def test_flags_for_the_controller_manager_come_last_and_a_wrong_one_is_told() -> None:
    with (
        pytest.raises(
            StartError, match=r"^kube-controller-manager ended with 1: Error: unknown flag: --nonsense$"
        ),
        DevCluster(scheduler=False, controller_manager_flags=["--nonsense"]),
    ):
        pytest.fail("it started")


def test_a_client_of_ones_own_follows_a_watch(cluster: DevCluster) -> None:
    client = cluster.client(connections=1)
    try:
        first = next(iter(client.lines("/api/v1/nodes?watch=1&timeoutSeconds=20", silence=10)))
    finally:
        client.close()

    assert json.loads(first)["object"]["kind"] == "Node"


def test_a_watch_that_is_refused_is_an_error(cluster: DevCluster) -> None:
    client = cluster.client(connections=1)
    try:
        with pytest.raises(RequestError, match=r"GET /api/v1/nonsense: 404"):
            next(iter(client.lines("/api/v1/nonsense", silence=10)))
    finally:
        client.close()


def kill_scheduler(temporary: Path) -> None:
    [pid] = [pid for pid, command in processes_naming(temporary).items() if "kube-scheduler" in command]
    os.kill(pid, signal.SIGKILL)


def test_a_component_that_ends_by_itself_is_named_to_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    with DevCluster(controller_manager=False) as cluster:
        kill_scheduler(tmp_path)

        with pytest.raises(StartError, match=r"^kube-scheduler was killed by SIGKILL$"):
            cluster.wait()


def test_a_component_that_ends_by_itself_ends_the_cluster_and_leaving_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def kill_and_wait_for_the_end() -> None:
        kill_scheduler(tmp_path)
        eventually(lambda: not list(tmp_path.iterdir()), seconds=20, what="the folder is gone")

    with (
        pytest.raises(StartError, match=r"^kube-scheduler was killed by SIGKILL$"),
        DevCluster(controller_manager=False),
    ):
        kill_and_wait_for_the_end()


def test_ready_programs_are_used_where_a_variable_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = ensure_built(say_on_stderr)
    for name in ("etcd", "kube-apiserver"):  # what envtest's assets hold
        shutil.copy(built / name, tmp_path / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))

    with DevCluster(scheduler=False, controller_manager=False) as cluster:
        assert cluster.request("GET", "/readyz") == "ok"
