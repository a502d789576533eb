from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.neighbours import KEEP_SECONDS
from tests.clocks import SetClock
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


# --- beside the CA of others


@pytest.fixture(scope="module")
def ours() -> Authority:
    return create_authority("custom-scheduler", utc_now())


@pytest.fixture(scope="module")
def theirs() -> Authority:
    return create_authority("cert-manager", utc_now())


def beside(configuration: MemoryConfiguration, clock: SetClock[float]) -> Registration:
    return Registration(configuration, settle_seconds=60, boot_clock=clock)


def look(registration: Registration, authority: Authority) -> None:
    registration.read()
    assert registration.publish(authority.bundle)


def test_the_ca_of_others_stays_beside_ours(ours: Authority, theirs: Authority) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.put(theirs.bundle)

    look(beside(configuration, SetClock(100.0)), ours)

    assert configuration.bundles() == [ours.bundle + theirs.bundle]


def test_what_an_injector_adds_to_ours_is_written_over_by_nobody(ours: Authority, theirs: Authority) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.is_injected = True
    clock = SetClock(100.0)
    registration = beside(configuration, clock)
    look(registration, ours)
    configuration.put(ours.bundle + theirs.bundle)

    look(registration, ours)
    clock.now += 100 * KEEP_SECONDS
    look(registration, ours)

    assert configuration.bundles() == [ours.bundle + theirs.bundle]
    assert configuration.writes == 1


def test_the_ca_of_others_goes_an_hour_after_the_annotation(ours: Authority, theirs: Authority) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.is_injected = True
    configuration.put(theirs.bundle)
    clock = SetClock(100.0)
    registration = beside(configuration, clock)
    look(registration, ours)
    clock.now += 10 * KEEP_SECONDS
    look(registration, ours)
    configuration.is_injected = False
    look(registration, ours)

    clock.now += KEEP_SECONDS - 1
    look(registration, ours)
    shortly_before = configuration.bundles()
    clock.now += 1
    look(registration, ours)

    assert shortly_before == [ours.bundle + theirs.bundle]
    assert configuration.bundles() == [ours.bundle]


def test_a_replica_that_comes_beside_others_is_called_once_its_ca_is_known(
    ours: Authority, theirs: Authority
) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.put(theirs.bundle)
    clock = SetClock(100.0)
    registration = beside(configuration, clock)

    look(registration, ours)
    at_first = registration.fault
    clock.now += 59
    look(registration, ours)
    later = registration.fault
    clock.now += 1

    assert at_first == (
        "our CA came into caBundle of ValidatingWebhookConfiguration custom-scheduler beside the CA of others just "
        "now: API servers have 60 s more to learn of it"
    )
    assert "1 s more" in later
    assert registration.fault == ""


@pytest.mark.parametrize("carried", ["nothing", "ours", "ours beside theirs"])
def test_a_replica_whose_ca_is_known_or_that_has_no_neighbours_is_called_at_once(
    ours: Authority, theirs: Authority, carried: str
) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.put({"nothing": b"", "ours": ours.bundle}.get(carried, ours.bundle + theirs.bundle))
    registration = beside(configuration, SetClock(100.0))

    look(registration, ours)

    assert registration.fault == ""


def test_a_ca_that_others_drop_later_takes_no_replica_out(ours: Authority, theirs: Authority) -> None:
    configuration = MemoryConfiguration(OURS)
    registration = beside(configuration, SetClock(100.0))
    look(registration, ours)
    configuration.put(theirs.bundle)

    look(registration, ours)

    assert configuration.bundles() == [ours.bundle + theirs.bundle]
    assert registration.fault == ""


def test_a_rotation_of_ours_goes_on_beside_the_ca_of_others(ours: Authority, theirs: Authority) -> None:
    configuration = MemoryConfiguration(OURS)
    configuration.is_injected = True
    configuration.put(ours.bundle + theirs.bundle)
    successor = create_authority("custom-scheduler", utc_now())
    registration = beside(configuration, SetClock(100.0))
    look(registration, ours)

    registration.read()
    registration.publish(ours.bundle + successor.bundle)
    published = configuration.bundles()
    look(registration, successor)

    assert published == [ours.bundle + successor.bundle + theirs.bundle]
    assert configuration.bundles() == [successor.bundle + theirs.bundle]
