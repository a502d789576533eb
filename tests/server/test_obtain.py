"""The CA at a start: found, waited for or made."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from certs.authority import AUTHORITY_LIFETIME, create_authority
from certs.clock import utc_now
from certs.custody import Custody
from certs.rotation import begin
from certs.store import SecretStore
from tests.certs.memory_store import MemorySecret, MemoryStore
from tests.server.cluster import MemoryLeases
from webhook.errors import ApiError, ConfigurationError, Unreachable
from webhook.kube.transport import CONNECT_SECONDS, REQUEST_SECONDS
from webhook.server.obtain import RETURN_SECONDS, obtain_custody


class Patience:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def obtain(store: SecretStore, patience: Patience, leases: MemoryLeases | None = None) -> Custody:
    return obtain_custody(store, leases or MemoryLeases(), monotonic=patience, sleep=patience.sleep)


def leases_of_a_replica() -> MemoryLeases:
    leases = MemoryLeases()
    leases.hold("webhook-1", "abc", now=utc_now(), ends_at=utc_now() + timedelta(days=7))
    return leases


def test_the_authority_is_made_where_there_was_none() -> None:
    store = MemoryStore()

    custody = obtain(store, Patience())

    assert store.secret is not None
    assert store.secret.data == custody.data


@pytest.mark.parametrize("ahead", [-400, -2, 2, 310, 400])
def test_a_wrong_clock_of_the_machine_changes_nothing_about_the_ca(ahead: int) -> None:
    held = Custody(authority=create_authority("custom-scheduler", utc_now()))
    store = MemoryStore(held.data)

    custody = obtain_custody(store, MemoryLeases(), machine_clock=lambda: utc_now() + timedelta(days=ahead))

    assert (custody.data, store.secret and store.secret.data) == (held.data, held.data)


@pytest.mark.parametrize(
    "age", [AUTHORITY_LIFETIME - timedelta(days=30), AUTHORITY_LIFETIME + timedelta(days=1)]
)
def test_a_ca_that_is_old_by_the_api_servers_clock_alone_is_left_as_it_is(age: timedelta) -> None:
    held = Custody(authority=create_authority("custom-scheduler", utc_now()))
    store, patience = MemoryStore(held.data), Patience()

    with suppress(ConfigurationError):
        obtain_custody(
            store,
            MemoryLeases(),
            clock=lambda: utc_now() + age,
            machine_clock=utc_now,
            monotonic=patience,
            sleep=patience.sleep,
        )

    assert store.secret is not None
    assert store.secret.data == held.data


def test_the_api_server_is_asked_before_its_clock_is_read() -> None:
    order: list[str] = []

    class Store(MemoryStore):
        def read(self) -> MemorySecret | None:
            order.append("asked")
            return super().read()

    def clock() -> datetime:
        order.append("clock")
        return utc_now()

    obtain_custody(Store(), MemoryLeases(), clock=clock)

    assert order[:2] == ["asked", "clock"]


def test_an_api_server_that_comes_up_in_time_is_waited_for() -> None:
    store, patience = MemoryStore(), Patience()
    store.refusal = Unreachable("refused")

    class Comes(Patience):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now > 20:
                store.refusal = None

    patience = Comes()
    obtain(store, patience)

    assert 20 < patience.now < 30


def test_an_api_server_that_stays_away_is_given_up_after_half_a_minute() -> None:
    store, patience = MemoryStore(), Patience()
    store.refusal = Unreachable("API server 127.0.0.1:6443: connection refused")

    with pytest.raises(ConfigurationError) as error:
        obtain(store, patience)

    assert str(error.value) == (
        "no certificate authority after 30 s: API server 127.0.0.1:6443: connection refused; "
        "to serve without a cluster, give --tls-cert and --tls-key"
    )
    assert 30 <= patience.now < 35


def test_a_person_who_waits_is_told_why_and_once(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.refusal = ApiError("forbidden: grant it", status=403)

    with caplog.at_level(logging.WARNING), pytest.raises(ConfigurationError):
        obtain(store, Patience())

    assert [record.getMessage() for record in caplog.records] == [
        "waiting for the certificate authority: forbidden: grant it"
    ]


def test_a_ca_that_has_expired_gives_way_to_its_successor_at_once() -> None:
    now = utc_now()
    expired = Custody(authority=create_authority("custom-scheduler", now - AUTHORITY_LIFETIME))
    under_way = begin(expired, "custom-scheduler", now - timedelta(days=1))
    store = MemoryStore(under_way.data)

    custody = obtain(store, Patience())

    assert under_way.successor is not None
    assert custody.authority.certificate == under_way.successor.certificate


@pytest.mark.parametrize("data", [None, {}, {"ca.crt": b"garbage"}], ids=["deleted", "emptied", "garbage"])
def test_a_ca_that_was_lost_is_left_to_a_running_replica_to_put_back(data: dict[str, bytes] | None) -> None:
    held = Custody(authority=create_authority("custom-scheduler", utc_now()))
    store = MemoryStore(data)

    class PutBack(Patience):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now > 2:
                store.put(held.data)

    patience = PutBack()
    custody = obtain(store, patience, leases_of_a_replica())

    assert custody.authority.certificate == held.authority.certificate
    assert 2 < patience.now < 3


def test_a_ca_that_nobody_puts_back_is_made_anew_after_twenty_seconds() -> None:
    store, patience = MemoryStore(), Patience()

    custody = obtain(store, patience, leases_of_a_replica())

    assert store.secret is not None
    assert store.secret.data == custody.data
    assert 20 <= patience.now < 21


def test_a_running_replica_has_time_for_a_request_that_hangs_before_it_puts_a_ca_back() -> None:
    assert RETURN_SECONDS > CONNECT_SECONDS + REQUEST_SECONDS


def test_where_no_replica_runs_nothing_is_waited_for() -> None:
    patience = Patience()

    obtain(MemoryStore(), patience)

    assert patience.now == 0
