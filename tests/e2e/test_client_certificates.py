"""kube-apiserver shows a client certificate where docs/operations.md says so, and nobody else gets past the handshake."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
import yaml

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.objects import pod
from tests.e2e.traffic import ca_bundle
from tests.waiting import eventually

ENFORCED = "enforced"
DENIAL = "Pod must have custom label"


@pytest.fixture(scope="module")
def clients() -> trustme.CA:
    """The CA of client certificates."""
    return trustme.CA()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, clients: trustme.CA) -> Path:
    """The files of docs/operations.md, and the client CA."""
    folder = tmp_path_factory.mktemp("admission")
    leaf = clients.issue_cert("kube-apiserver")
    leaf.cert_chain_pems[0].write_to_path(folder / "client.crt")
    leaf.private_key_pem.write_to_path(folder / "client.key")
    clients.cert_pem.write_to_path(folder / "client-ca.crt")
    plugins = [
        {
            "name": name,
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "WebhookAdmissionConfiguration",
                "kubeConfigFile": str(folder / "webhooks.kubeconfig"),
            },
        }
        for name in ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")
    ]
    admission = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": plugins,
    }
    (folder / "admission.yaml").write_text(yaml.safe_dump(admission))
    return folder


def show_certificate(folder: Path, server: str) -> None:
    user = {
        "client-certificate": str(folder / "client.crt"),
        "client-key": str(folder / "client.key"),
    }
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": server, "user": user}]}
    (folder / "webhooks.kubeconfig").write_text(yaml.safe_dump(kubeconfig))


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[DevCluster]:
    show_certificate(folder, "nobody.example.com")
    flag = f"--admission-control-config-file={folder / 'admission.yaml'}"
    with DevCluster(scheduler=False, controller_manager=False, apiserver_flags=[flag]) as cluster:
        cluster.add_namespace(ENFORCED, labels={"custom-scheduler.io/enforce": "deny"})
        yield cluster


@pytest.fixture(scope="module")
def installation(cluster: DevCluster, folder: Path) -> Iterator[Installation]:
    options = ("--no-binder", "--client-ca", str(folder / "client-ca.crt"))
    with Installation(cluster, options=options) as installation:
        yield installation


def created(cluster: DevCluster) -> str:
    body = json.loads(pod(ENFORCED, "bare"))
    path = f"namespaces/{ENFORCED}/pods?dryRun=All"
    asked = cluster.kubectl(
        "create", "--raw", f"/api/v1/{path}", "-f", "-", input=json.dumps(body), check=False
    )
    return asked.stdout + asked.stderr


def test_the_api_server_is_answered_with_its_certificate_and_refused_without(
    cluster: DevCluster, installation: Installation, folder: Path
) -> None:
    without = created(cluster)

    cluster.stop_apiserver()  # it reads these files at its start
    show_certificate(folder, f"localhost:{installation.port}")
    cluster.start_apiserver()

    assert DENIAL not in without  # failurePolicy Ignore
    assert eventually(lambda: DENIAL in created(cluster), "the call is answered")


def test_a_stranger_gets_no_further_than_the_handshake(
    cluster: DevCluster, installation: Installation
) -> None:
    context = ssl.create_default_context(cadata=ca_bundle(cluster))

    with (
        socket.create_connection(("127.0.0.1", installation.port), timeout=5) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as connection,
        pytest.raises(ssl.SSLError, match="certificate required"),
    ):
        connection.recv(1)
