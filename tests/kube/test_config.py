from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests.kube.fakeapi import Exchange, FakeApi, authority
from webhook.errors import ConfigurationError, Unreachable
from webhook.kube.config import connect, user_agent

NOWHERE = "https://127.0.0.1:1"

Write = Callable[..., Path]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a kubeconfig of one cluster and one user, each with the given keys changed."""

    def write(server: str = NOWHERE, *, cluster: object = None, user: object = None, **top: object) -> Path:
        config: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": server,
                        "certificate-authority-data": encoded(authority().cert_pem.bytes()),
                        **(cluster if isinstance(cluster, dict) else {}),
                    },
                }
            ],
            "users": [{"name": "u", "user": {"token": "sesame"} if user is None else user}],
            **top,
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    return write


def assert_refused(text: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(*arguments, **options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def ok(exchange: Exchange) -> None:
    exchange.reply(200, {})


def test_a_kubeconfig_gives_address_trust_and_token(write: Write) -> None:
    with FakeApi(ok) as api:
        client = connect(write(f"https://127.0.0.1:{api.port}"))
        client.request("GET", "/version")
        client.close()

    assert api.exchanges[0].headers["authorization"] == "Bearer sesame"
    assert api.exchanges[0].headers["user-agent"] == user_agent()


def test_the_user_agent_names_program_and_version() -> None:
    name, _, version = user_agent().partition("/")

    assert name == "custom-scheduler"
    assert version[0].isdigit()


def test_an_inline_client_key_is_used_and_not_left_on_disk(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    pair = authority().issue_cert("admin@test", key_type=trustme.KeyType.ECDSA)
    user = {
        "client-certificate-data": encoded(pair.cert_chain_pems[0].bytes()),
        "client-key-data": encoded(pair.private_key_pem.bytes()),
    }

    with FakeApi(ok) as api:
        client = connect(write(f"https://127.0.0.1:{api.port}", user=user))
        client.request("GET", "/version")
        client.close()

    assert "authorization" not in api.exchanges[0].headers
    assert list(scratch.iterdir()) == []


def test_the_variable_kubeconfig_is_used_where_none_is_given(write: Write) -> None:
    client = connect(environ={"KUBECONFIG": str(write())})

    assert client.host == "127.0.0.1:1"
    client.close()


def test_a_path_of_several_kubeconfigs_skips_those_that_do_not_exist(write: Write) -> None:
    client = connect(environ={"KUBECONFIG": f"/no/such/file:{write()}"})

    assert client.host == "127.0.0.1:1"
    client.close()


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame\n")
    (tmp_path / "ca.crt").write_bytes(authority().cert_pem.bytes())

    with FakeApi(ok) as api:
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
        client = connect(environ=environ, service_account=tmp_path)
        client.request("GET", "/version")
        client.close()

    assert api.exchanges[0].headers["authorization"].lower() == "bearer sesame"


def test_the_variable_kubeconfig_goes_before_the_pods_own_in_a_pod_too(write: Write, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame\n")
    (tmp_path / "ca.crt").write_bytes(authority().cert_pem.bytes())
    environ = {
        "KUBECONFIG": str(write()),
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }

    client = connect(environ=environ, service_account=tmp_path)

    assert client.host == "127.0.0.1:1"
    client.close()


def test_a_pod_needs_no_folder_that_it_can_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("sesame\n")
    (tmp_path / "ca.crt").write_bytes(authority().cert_pem.bytes())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not-there"))

    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}

    connect(environ=environ, service_account=tmp_path).close()


def test_a_pod_without_a_mounted_token_is_told_what_to_mount(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}

    assert_refused("automountServiceAccountToken", environ=environ, service_account=tmp_path)


def test_the_home_folder_is_looked_at_last(tmp_path: Path) -> None:
    assert_refused(f"kubeconfig {tmp_path}/.kube/config: no such file", environ={"HOME": str(tmp_path)})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert_refused(f"kubeconfig {tmp_path}/none: no such file", tmp_path / "none")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    assert_refused(f"kubeconfig {tmp_path}: [Errno 21] Is a directory", tmp_path)


@pytest.mark.parametrize(
    "text", ["", "just words", "[1, 2]", "a: b: c", "clusters: 7\ncontexts: 7\nusers: 7"]
)
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)

    assert_refused(f"kubeconfig {path}: ", path)


def test_a_missing_current_context_is_told(write: Write) -> None:
    path = write(**{"current-context": None})

    assert_refused("Expected key current-context", path)


def test_an_unknown_context_is_told(write: Write) -> None:
    assert_refused("Expected object with name elsewhere", write(), context="elsewhere")


def test_a_context_can_be_chosen(write: Write) -> None:
    path = write(**{"current-context": None})

    connect(path, context="here").close()


def test_an_unknown_cluster_is_told(write: Write) -> None:
    assert_refused("Expected object with name c", write(clusters=[]))


@pytest.mark.parametrize("user", [{}, {"exec": {"apiVersion": "v1", "command": "/no/such/plugin"}}])
def test_a_user_without_usable_credentials_is_told(write: Write, user: object) -> None:
    assert_refused("gives no credentials", write(user=user))


@pytest.mark.parametrize("server", ["http://127.0.0.1:8001", "127.0.0.1:8001", "https://", ""])
def test_a_server_without_tls_is_refused(write: Write, server: str) -> None:
    assert_refused("is not an https:// URL", write(server))


def test_skipping_tls_verification_is_refused(write: Write) -> None:
    cluster = {"insecure-skip-tls-verify": True}

    assert_refused("insecure-skip-tls-verify is not accepted", write(cluster=cluster))


def test_an_authority_that_is_no_pem_is_told(write: Write) -> None:
    cluster = {"certificate-authority-data": encoded(b"nonsense")}

    assert_refused("can't be loaded", write(cluster=cluster))


def test_a_key_of_another_certificate_is_told(write: Write) -> None:
    user = {
        "client-certificate-data": encoded(authority().issue_cert("a@test").cert_chain_pems[0].bytes()),
        "client-key-data": encoded(authority().issue_cert("b@test").private_key_pem.bytes()),
    }

    assert_refused("can't be loaded", write(user=user))


def test_a_proxy_of_an_unknown_kind_is_told(write: Write) -> None:
    assert_refused(
        "proxy 'carrier-pigeon://loft' can't be used", write(cluster={"proxy-url": "carrier-pigeon://loft"})
    )


def test_a_kubeconfig_that_points_nowhere_fails_at_the_first_request(write: Write) -> None:
    client = connect(write())

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: no connection"):
        client.request("GET", "/version")


def test_a_server_name_of_its_own_is_verified(write: Write) -> None:
    with FakeApi(ok) as api:
        client = connect(write(f"https://127.0.0.1:{api.port}", cluster={"tls-server-name": "kubernetes"}))
        with pytest.raises(Unreachable, match="TLS failed"):
            client.request("GET", "/version")
        client.close()
