from __future__ import annotations

from typing import Any

import pytest

from tests.kube.fakeapi import FakeApi
from webhook.errors import ApiError
from webhook.inspect.certmode import serves_files


def deployment(*arguments: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "webhook", "args": list(arguments)}]}}}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["serve", "--cert-mode=files", "--tls-cert=/tls/tls.crt", "--tls-key=/tls/tls.key"], True),
        (["serve", "--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key"], True),
        (["serve", "--cert-mode=self-signed"], False),
        (["serve"], False),
    ],
)
def test_the_deployments_options_say_whether_it_serves_files(arguments: list[str], expected: bool) -> None:
    with FakeApi(lambda exchange: exchange.reply(200, deployment(*arguments))) as api:
        assert serves_files(api.client(), "ours") is expected

    assert api.exchanges[0].path == "/apis/apps/v1/namespaces/ours/deployments/custom-scheduler"


def test_without_a_deployment_the_certificate_is_taken_to_be_its_own() -> None:
    with FakeApi(lambda exchange: exchange.refuse(404)) as api:
        assert not serves_files(api.client(), "ours")


def test_a_deployment_that_may_not_be_read_is_no_answer() -> None:
    with FakeApi(lambda exchange: exchange.refuse(403)) as api, pytest.raises(ApiError):
        serves_files(api.client(), "ours")
