from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.authority import create_authority
from certs.bundle import amended, bundle_patch, bundles, certificates_in, entries_without, url_hosts
from certs.clock import utc_now

AUTHORITY = create_authority("custom-scheduler", utc_now())
BUNDLE = AUTHORITY.bundle
OTHER, ANOTHER = (create_authority("other", utc_now()) for _ in range(2))
NAMES = frozenset({"deny.pods.custom-scheduler.io", "warn.pods.custom-scheduler.io"})


@dataclass(frozen=True, kw_only=True)
class Client:
    ca_bundle: bytes = b""
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    name: str = "deny.pods.custom-scheduler.io"
    client_config: Client = field(default_factory=Client)


def entry(name: str, ca_bundle: bytes = b"", url: str | None = None) -> Entry:
    return Entry(name=name, client_config=Client(ca_bundle=ca_bundle, url=url))


VERSION = "17"


@dataclass(frozen=True, kw_only=True)
class Read:
    webhooks: list[Entry]
    resource_version: str = VERSION


def patch_for(entries: list[Entry]) -> list[dict[str, str]]:
    return bundle_patch(lambda _: BUNDLE, Read(webhooks=entries), NAMES)


def as_stored(entries: list[Entry]) -> dict[str, Any]:
    """Return the configuration that holds these entries, as the API server would give it."""
    webhooks = []
    for one in entries:
        client: dict[str, Any] = {"service": {"name": "custom-scheduler", "namespace": "custom-scheduler"}}
        if one.client_config.ca_bundle:
            client["caBundle"] = base64.b64encode(one.client_config.ca_bundle).decode()
        webhooks.append({"name": one.name, "clientConfig": client, "failurePolicy": "Ignore"})
    return {"metadata": {"name": "custom-scheduler", "resourceVersion": VERSION}, "webhooks": webhooks}


def test_nothing_is_written_when_each_entry_has_the_bundle() -> None:
    entries = [entry(name, BUNDLE) for name in NAMES]

    assert patch_for(entries) == []


def test_an_entry_without_a_bundle_gets_it_after_tests_of_its_name_and_of_the_version() -> None:
    operations = patch_for([entry("deny.pods.custom-scheduler.io")])

    assert operations == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": VERSION},
        {"op": "test", "path": "/webhooks/0/name", "value": "deny.pods.custom-scheduler.io"},
        {
            "op": "add",
            "path": "/webhooks/0/clientConfig/caBundle",
            "value": base64.b64encode(BUNDLE).decode(),
        },
    ]


def test_only_entries_that_differ_are_written() -> None:
    entries = [
        entry("deny.pods.custom-scheduler.io", BUNDLE),
        entry("warn.pods.custom-scheduler.io", b"old"),
    ]

    operations = patch_for(entries)

    assert {operation["path"] for operation in operations} == {
        "/metadata/resourceVersion",
        "/webhooks/1/name",
        "/webhooks/1/clientConfig/caBundle",
    }


def test_entries_that_somebody_else_added_are_left_alone() -> None:
    entries = [
        entry("audit.example.com", b"theirs"),
        entry("unknown.custom-scheduler.io", b"theirs"),
        entry("deny.pods.custom-scheduler.io"),
    ]

    patched = jsonpatch.apply_patch(as_stored(entries), patch_for(entries))

    assert patched["webhooks"][:2] == as_stored(entries)["webhooks"][:2]


def test_what_is_wanted_may_differ_by_what_is_there() -> None:
    entries = [entry("deny.pods.custom-scheduler.io", b"a"), entry("warn.pods.custom-scheduler.io", b"b")]

    operations = bundle_patch(lambda present: present * 2, Read(webhooks=entries), NAMES)

    assert [base64.b64decode(each["value"]) for each in operations if "caBundle" in each["path"]] == [
        b"aa",
        b"bb",
    ]


def test_an_entry_lacks_a_bundle_of_which_one_certificate_is_missing() -> None:
    both = BUNDLE + OTHER.bundle
    entries = [
        entry("deny.pods.custom-scheduler.io", BUNDLE),
        entry("warn.pods.custom-scheduler.io", OTHER.bundle + ANOTHER.bundle + BUNDLE),
        entry("audit.example.com"),
    ]

    assert entries_without(both, entries, NAMES) == {"deny.pods.custom-scheduler.io"}


@pytest.mark.parametrize(
    "garbage",
    [b"", b"garbage", BUNDLE + b"-----BEGIN CERTIFICATE-----\nZ2FyYmFnZQ==\n-----END CERTIFICATE-----\n"],
)
def test_a_bundle_with_garbage_in_it_holds_no_certificate(garbage: bytes) -> None:
    assert certificates_in(garbage) == ()
    assert amended(garbage, BUNDLE, lambda _: True) == BUNDLE


def test_what_stays_comes_behind_ours_in_its_order_and_once() -> None:
    present = ANOTHER.bundle + OTHER.bundle + BUNDLE + ANOTHER.bundle

    assert amended(present, BUNDLE, lambda _: True) == BUNDLE + ANOTHER.bundle + OTHER.bundle


def test_what_does_not_stay_goes() -> None:
    present = OTHER.bundle + BUNDLE + ANOTHER.bundle

    assert amended(present, BUNDLE, lambda each: each == OTHER.certificate) == BUNDLE + OTHER.bundle


def test_a_bundle_that_was_amended_is_amended_no_further() -> None:
    once = amended(ANOTHER.bundle + OTHER.bundle, BUNDLE, lambda _: True)

    assert amended(once, BUNDLE, lambda _: True) == once


def test_an_entry_that_was_dropped_is_not_asked_for() -> None:
    assert patch_for([]) == []


def test_nothing_is_written_when_an_entry_was_dropped_since_the_read() -> None:
    read = [entry("warn.pods.custom-scheduler.io"), entry("deny.pods.custom-scheduler.io")]
    operations = patch_for(read)

    with pytest.raises(jsonpatch.JsonPatchException):
        jsonpatch.apply_patch(as_stored(read[1:]), operations)


def test_nothing_is_written_over_what_somebody_wrote_since_the_read() -> None:
    entries = [entry("deny.pods.custom-scheduler.io")]
    stored = as_stored(entries) | {"metadata": {"name": "custom-scheduler", "resourceVersion": "18"}}

    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(stored, patch_for(entries))


def test_the_bundles_of_our_entries_are_found() -> None:
    entries = [entry("audit.example.com", b"theirs"), *(entry(name, BUNDLE) for name in NAMES)]

    assert bundles(entries, NAMES) == [BUNDLE, BUNDLE]


@given(
    st.lists(
        st.builds(
            entry,
            st.sampled_from([*NAMES, "audit.example.com"]),
            st.sampled_from([b"", b"old", BUNDLE]),
        ),
        unique_by=lambda one: one.name,
    )
)
def test_a_patch_changes_our_bundles_alone_and_a_second_look_finds_nothing(entries: list[Entry]) -> None:
    stored = as_stored(entries)
    expected = json.loads(json.dumps(stored))
    for webhook in expected["webhooks"]:
        if webhook["name"] in NAMES:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(BUNDLE).decode()

    patched = jsonpatch.apply_patch(stored, patch_for(entries))

    assert patched == expected
    after = [entry(one.name, BUNDLE if one.name in NAMES else one.client_config.ca_bundle) for one in entries]
    assert patch_for(after) == []


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://localhost:8443/validate", "localhost"),
        ("https://Webhook.Example.com/validate", "webhook.example.com"),
        ("https://webhook.example.com.:8443/validate", "webhook.example.com"),
        ("https://10.0.0.7/validate", "10.0.0.7"),
        ("https://[fd00::7]:8443/validate", "fd00::7"),
    ],
)
def test_the_host_of_a_url_is_found(url: str, host: str) -> None:
    assert url_hosts([entry("deny.pods.custom-scheduler.io", url=url)], NAMES) == {host}


@pytest.mark.parametrize(
    "url", ["", "https://", "https:///validate", "https://[fd00::7", "https://exämple.com/"]
)
def test_a_url_whose_host_no_certificate_can_hold_is_passed_over(url: str) -> None:
    entries = [
        entry("deny.pods.custom-scheduler.io", url=url),
        entry("warn.pods.custom-scheduler.io", url="https://localhost/"),
    ]

    assert url_hosts(entries, NAMES) == {"localhost"}


def test_the_urls_of_others_are_not_ours_to_serve() -> None:
    assert url_hosts([entry("audit.example.com", url="https://audit.example.com/")], NAMES) == frozenset()


def test_an_entry_that_calls_a_service_has_no_url_host() -> None:
    assert url_hosts([entry("deny.pods.custom-scheduler.io")], NAMES) == frozenset()
