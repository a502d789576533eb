from __future__ import annotations

import pytest

from tests.kube.fakeapi import FakeApi
from webhook.errors import ApiError
from webhook.kube.webhookconfig import (
    ClientConfig,
    ReadConfiguration,
    ServiceReference,
    WebhookConfigurations,
    WebhookEntry,
)

API = "/apis/admissionregistration.k8s.io/v1"


def test_entries_are_read_with_name_bundle_and_url() -> None:
    webhooks = [
        {"name": "a.io", "clientConfig": {"caBundle": "cGVt", "service": {"name": "s"}}},
        {"name": "b.io", "clientConfig": {"url": "https://localhost:8443/validate"}},
    ]
    metadata = {"name": "ours", "resourceVersion": "17"}
    with FakeApi(lambda exchange: exchange.reply(200, {"metadata": metadata, "webhooks": webhooks})) as api:
        read = WebhookConfigurations(api.client(), "ours").validating.read()

    assert read == ReadConfiguration(
        resource_version="17",
        webhooks=(
            WebhookEntry(
                name="a.io", client_config=ClientConfig(ca_bundle=b"pem", service=ServiceReference(name="s"))
            ),
            WebhookEntry(name="b.io", client_config=ClientConfig(url="https://localhost:8443/validate")),
        ),
    )
    assert api.exchanges[0].path == f"{API}/validatingwebhookconfigurations/ours"


@pytest.mark.parametrize(
    ("annotations", "is_injected"),
    [
        ({"cert-manager.io/inject-ca-from": "placement/serving"}, True),
        ({"cert-manager.io/inject-ca-from-secret": "placement/ca"}, True),
        ({"cert-manager.io/issuer": "custom"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_an_annotation_tells_that_a_ca_is_injected(
    annotations: dict[str, str] | None, is_injected: bool
) -> None:
    answer = {"metadata": {"name": "ours", "annotations": annotations}, "webhooks": []}
    with FakeApi(lambda exchange: exchange.reply(200, answer)) as api:
        read = WebhookConfigurations(api.client(), "ours").validating.read()

    assert read is not None
    assert read.is_injected is is_injected


def test_a_configuration_without_entries_is_empty() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {"metadata": {}})) as api:
        read = WebhookConfigurations(api.client(), "ours").mutating.read()

    assert read is not None
    assert read.webhooks == ()


def test_no_configuration_is_none() -> None:
    with FakeApi(lambda exchange: exchange.refuse(404)) as api:
        assert WebhookConfigurations(api.client(), "ours").mutating.read() is None


def test_a_patch_is_sent_as_json_patch() -> None:
    operations = [{"op": "test", "path": "/webhooks/0/name", "value": "a.io"}]

    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        assert WebhookConfigurations(api.client(), "ours").mutating.patch(operations)

    (seen,) = api.exchanges
    assert (seen.method, seen.path) == ("PATCH", f"{API}/mutatingwebhookconfigurations/ours")
    assert seen.headers["content-type"] == "application/json-patch+json"
    assert seen.json == operations


def test_a_failed_test_is_told_from_an_error() -> None:
    message = "the server rejected our request due to an error in our request"
    with FakeApi(lambda exchange: exchange.refuse(422, message, "Invalid")) as api:
        assert not WebhookConfigurations(api.client(), "ours").validating.patch([])


def test_another_refusal_is_an_error() -> None:
    invalid = {"kind": "Status", "code": 422, "details": {"causes": [{"reason": "FieldValueInvalid"}]}}
    with FakeApi(lambda exchange: exchange.reply(422, invalid)) as api, pytest.raises(ApiError) as caught:
        WebhookConfigurations(api.client(), "ours").validating.patch([])

    assert caught.value.status == 422


def test_labels_name_kind_and_name() -> None:
    with FakeApi(lambda exchange: None) as api:
        labels = [each.label for each in WebhookConfigurations(api.client(), "ours")]

    assert labels == ["ValidatingWebhookConfiguration ours", "MutatingWebhookConfiguration ours"]
