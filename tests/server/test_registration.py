from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.cluster import MemoryConfiguration
from webhook.errors import ApiError, Unreachable
from webhook.policy.names import WEBHOOK_NAMES
from webhook.server.registration import Registration

MANIFESTS = Path(__file__).parents[2] / "manifests" / "base"
OURS = "deny.pods.custom-scheduler.io"
CA = b"-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"


def looked(configuration: MemoryConfiguration) -> Registration:
    registration = Registration(configuration)
    registration.read()
    return registration


def test_the_names_are_those_of_the_manifests() -> None:
    documents: list[dict[str, Any]] = [
        document
        for path in (MANIFESTS / "webhook-validating.yaml", MANIFESTS / "webhook-mutating.yaml")
        for document in yaml.safe_load_all(path.read_text())
    ]

    assert {entry["name"] for document in documents for entry in document["webhooks"]} == WEBHOOK_NAMES


def test_an_entry_without_our_ca_gets_it() -> None:
    configuration = MemoryConfiguration(OURS)

    looked(configuration).publish(CA)

    assert configuration.bundles() == [CA]
    assert configuration.writes == 1


def test_ten_looks_without_a_change_write_nothing() -> None:
    configuration = MemoryConfiguration(OURS)
    registration = looked(configuration)
    registration.publish(CA)

    for _ in range(10):
        registration.read()
        registration.publish(CA)

    assert configuration.writes == 1


def test_what_others_changed_stays() -> None:
    configuration = MemoryConfiguration("theirs.example.com", OURS)
    assert configuration.webhooks is not None
    configuration.webhooks[1]["timeoutSeconds"] = 7

    looked(configuration).publish(CA)

    assert configuration.bundles() == [b"", CA]
    assert configuration.webhooks[1]["timeoutSeconds"] == 7


def test_an_entry_dropped_after_the_look_leaves_the_others_unwritten() -> None:
    configuration = MemoryConfiguration("warn.pods.custom-scheduler.io", "theirs.example.com")
    registration = looked(configuration)
    assert configuration.webhooks is not None
    del configuration.webhooks[0]

    assert not registration.publish(CA)

    assert configuration.bundles() == [b""]
    assert registration.fault == (
        "caBundle of warn.pods.custom-scheduler.io in ValidatingWebhookConfiguration custom-scheduler "
        "is not our CA: others are writing it too"
    )


def test_what_others_wrote_after_the_look_is_not_written_over() -> None:
    configuration = MemoryConfiguration(OURS)
    registration = looked(configuration)
    looked(configuration).publish(b"newer")

    assert not registration.publish(CA)

    assert configuration.bundles() == [b"newer"]


def test_the_bundles_of_our_entries_are_those_of_the_last_look() -> None:
    configuration = MemoryConfiguration("theirs.example.com", OURS)
    registration = looked(configuration)
    registration.publish(CA)
    before = registration.bundles

    registration.read()

    assert before == [b""]
    assert registration.bundles == [CA]


def test_the_hosts_of_our_urls_are_found() -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.call_by("https://localhost:8443/validate")

    assert Registration(configuration).read() == {"localhost"}


def test_before_the_first_look_nothing_is_promised() -> None:
    registration = Registration(MemoryConfiguration(OURS))

    assert registration.fault == (
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet"
    )


def test_a_refused_write_says_which_entries_lack_our_ca_and_why() -> None:
    configuration = MemoryConfiguration(OURS)
    registration = looked(configuration)
    configuration.refusal = ApiError("forbidden: grant patch", status=403)

    with pytest.raises(ApiError):
        registration.publish(CA)

    assert registration.fault == (
        f"caBundle of {OURS} in ValidatingWebhookConfiguration custom-scheduler is not our CA: "
        "forbidden: grant patch"
    )


def test_a_write_that_succeeds_ends_the_fault() -> None:
    configuration = MemoryConfiguration(OURS)
    registration = looked(configuration)

    registration.publish(CA)

    assert registration.fault == ""


def test_an_api_server_that_goes_away_takes_no_promise_back() -> None:
    configuration = MemoryConfiguration(OURS)
    registration = looked(configuration)
    registration.publish(CA)
    configuration.refusal = Unreachable("refused")

    with pytest.raises(Unreachable):
        registration.read()

    assert registration.fault == ""


def test_a_missing_configuration_is_no_fault_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    configuration = MemoryConfiguration()
    configuration.webhooks = None
    registration = Registration(configuration)

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            registration.read()
            registration.publish(CA)

    assert registration.fault == ""
    assert [record.getMessage() for record in caplog.records] == [
        "ValidatingWebhookConfiguration custom-scheduler is not in the cluster: nothing calls this webhook through it"
    ]


def test_a_configuration_that_comes_later_gets_our_ca() -> None:
    configuration = MemoryConfiguration()
    configuration.webhooks = None
    registration = looked(configuration)
    configuration.webhooks = [{"name": OURS, "clientConfig": {}}]

    registration.read()
    registration.publish(CA)

    assert configuration.bundles() == [CA]
