from __future__ import annotations

from typing import Any

import pytest

from tests.kube.fakeapi import FakeApi
from webhook.errors import ApiError
from webhook.inspect.certmode import ServedFiles, served_files, serves_files


def deployment(*arguments: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "webhook", "args": list(arguments)}]}}}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["serve", "--cert-mode=files", "--tls-cert=/tls/tls.crt", "--tls-key=/tls/tls.key"], True),
        (["serve", "--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key"], True),
        (["serve", "--cert-mode", "files", "--tls-cert", "/tls/tls.crt"], True),
        (["serve", "--cert-mode=self-signed"], False),
        (["serve", "--cert-mode", "self-signed"], False),
        (["serve"], False),
    ],
)
def test_the_deployments_options_say_whether_it_serves_files(arguments: list[str], expected: bool) -> None:
    with FakeApi(lambda exchange: exchange.reply(200, deployment(*arguments))) as api:
        assert serves_files(api.client(), "ours") is expected

    assert api.exchanges[0].path == "/apis/apps/v1/namespaces/ours/deployments/custom-scheduler"


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"name": "CUSTOM_SCHEDULER_SERVE_CERT_MODE", "value": "files"}, True),
        ({"name": "CUSTOM_SCHEDULER_SERVE_TLS_CERT", "value": "/tls/tls.crt"}, True),
        (
            {"name": "CUSTOM_SCHEDULER_SERVE_TLS_CERT", "valueFrom": {"configMapKeyRef": {"key": "file"}}},
            True,
        ),
        ({"name": "CUSTOM_SCHEDULER_SERVE_CERT_MODE", "value": "self-signed"}, False),
        ({"name": "CUSTOM_SCHEDULER_SERVE_TLS_CERT"}, False),
        ({"name": "CUSTOM_SCHEDULER_EXTENDER_TLS_CERT", "value": "/tls/tls.crt"}, False),
    ],
)
def test_so_do_the_variables_of_its_environment(variable: dict[str, Any], expected: bool) -> None:
    described = deployment("serve")
    described["spec"]["template"]["spec"]["containers"][0]["env"] = [variable]

    assert (of(described) is not None) is expected


def test_the_command_line_wins_over_the_environment() -> None:
    described = deployment("serve", "--cert-mode=self-signed")
    described["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "CUSTOM_SCHEDULER_SERVE_CERT_MODE", "value": "files"}
    ]

    assert of(described) is None


def of(described: dict[str, Any]) -> ServedFiles | None:
    with FakeApi(lambda exchange: exchange.reply(200, described)) as api:
        return served_files(api.client(), "ours")


def mounting(*volumes: dict[str, Any], **mount: str) -> ServedFiles | None:
    """Return what is told of a webhook that serves /etc/tls/tls.crt from these volumes."""
    described = deployment("serve", "--tls-cert=/etc/tls/tls.crt")
    pod = described["spec"]["template"]["spec"]
    pod["containers"][0]["volumeMounts"] = [
        {"name": "all", "mountPath": "/"},
        {"name": "tls", "mountPath": "/etc/tls", **mount},
    ]
    pod["volumes"] = [{"name": "all", "secret": {"secretName": "another"}}, *volumes]
    return of(described)


@pytest.mark.parametrize(
    ("volume", "key"),
    [
        ({"secret": {"secretName": "serving"}}, "tls.crt"),
        ({"secret": {"secretName": "serving", "items": [{"key": "chain", "path": "tls.crt"}]}}, "chain"),
        ({"projected": {"sources": [{"configMap": {}}, {"secret": {"name": "serving"}}]}}, "tls.crt"),
    ],
)
def test_the_secret_is_the_one_whose_volume_holds_the_file(volume: dict[str, Any], key: str) -> None:
    assert mounting({"name": "tls", **volume}) == ServedFiles(secret="serving", key=key)


def test_a_single_file_may_be_mounted_from_a_secret() -> None:
    volume = {"name": "tls", "secret": {"secretName": "serving"}}

    assert mounting(volume, mountPath="/etc/tls/tls.crt", subPath="chain") == ServedFiles(
        secret="serving", key="chain"
    )


@pytest.mark.parametrize(
    "volume",
    [
        {"csi": {"driver": "secrets-store.csi.k8s.io"}},
        {"secret": {"secretName": "serving", "items": [{"key": "tls.crt", "path": "other"}]}},
    ],
)
def test_files_from_elsewhere_are_of_no_secret(volume: dict[str, Any]) -> None:
    assert mounting({"name": "tls", **volume}) == ServedFiles()


def test_without_a_deployment_the_certificate_is_taken_to_be_its_own() -> None:
    with FakeApi(lambda exchange: exchange.refuse(404)) as api:
        assert not serves_files(api.client(), "ours")


def test_a_deployment_that_may_not_be_read_is_no_answer() -> None:
    with FakeApi(lambda exchange: exchange.refuse(403)) as api, pytest.raises(ApiError):
        serves_files(api.client(), "ours")
