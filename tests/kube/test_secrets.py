from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi, Script, in_order
from webhook.errors import ApiError
from webhook.kube.secrets import KubeSecretStore, Secret

PATH = "/api/v1/namespaces/ns/secrets"


def secret(version: str, **data: bytes) -> dict[str, Any]:
    return {
        "metadata": {"name": "ca", "resourceVersion": version, "labels": {"team": "infra"}},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def answering(item: object, status: int = 200) -> Script:
    return lambda exchange: exchange.reply(status, item)


def refusing(status: int) -> Script:
    return lambda exchange: exchange.refuse(status)


def echo(exchange: Exchange) -> None:
    meta = {**exchange.json["metadata"], "resourceVersion": "8"}
    exchange.reply(200, {**exchange.json, "metadata": meta})


def store(api: FakeApi) -> KubeSecretStore:
    return KubeSecretStore(api.client(), namespace="ns", name="ca")


def test_values_are_read_as_bytes() -> None:
    with FakeApi(answering(secret("7", crt=b"pem\n"))) as api:
        assert store(api).read() == Secret(data={"crt": b"pem\n"}, resource_version="7")

    assert api.exchanges[0].path == f"{PATH}/ca"


def test_a_secret_without_data_is_empty() -> None:
    with FakeApi(answering({"metadata": {"resourceVersion": "7"}})) as api:
        assert store(api).read() == Secret(data={}, resource_version="7")


def test_no_secret_is_none() -> None:
    with FakeApi(refusing(404)) as api:
        assert store(api).read() is None


def test_a_refusal_is_an_error() -> None:
    with FakeApi(refusing(403)) as api, pytest.raises(ApiError, match="RBAC"):
        store(api).read()


def test_creating_returns_the_new_state() -> None:
    with FakeApi(echo) as api:
        assert store(api).create({"crt": b"pem"}) == Secret(data={"crt": b"pem"}, resource_version="8")

    assert (api.exchanges[0].method, api.exchanges[0].path) == ("POST", PATH)
    assert api.exchanges[0].json["metadata"] == {"name": "ca", "namespace": "ns"}


def test_creating_what_exists_is_none() -> None:
    with FakeApi(refusing(409)) as api:
        assert store(api).create({}) is None


def test_creating_in_a_namespace_that_does_not_exist_is_an_error() -> None:
    with FakeApi(refusing(404)) as api, pytest.raises(ApiError):
        store(api).create({})


def test_replacing_puts_new_data_and_keeps_labels() -> None:
    with FakeApi(in_order(answering(secret("7", old=b"x")), echo)) as api:
        assert store(api).replace({"new": b"y"}, resource_version="7") == Secret(
            data={"new": b"y"}, resource_version="8"
        )

    written = api.exchanges[1]
    assert (written.method, written.path) == ("PUT", f"{PATH}/ca")
    assert written.json["metadata"] == {"name": "ca", "resourceVersion": "7", "labels": {"team": "infra"}}


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([answering(secret("8"))], id="it was written since"),
        pytest.param([refusing(404)], id="it was deleted since"),
        pytest.param([answering(secret("7")), refusing(409)], id="it is written at this moment"),
        pytest.param([answering(secret("7")), refusing(404)], id="it is deleted at this moment"),
    ],
)
def test_replacing_what_is_no_longer_there_is_none(answers: list[Script]) -> None:
    with FakeApi(in_order(*answers)) as api:
        assert store(api).replace({}, resource_version="7") is None
    assert len(api.exchanges) == len(answers)
