from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.kube.fakeapi import FakeApi
from webhook.kube.clock import ServerClock, boot_time

DATE = "Mon, 30 Nov 2026 12:00:00 GMT"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_boot_time_advances() -> None:
    assert boot_time() <= boot_time()


def test_before_an_answer_the_servers_time_is_unknown() -> None:
    assert ServerClock().now() is None


def test_the_servers_time_goes_on_by_the_time_since_boot() -> None:
    boot = [100.0]
    clock = ServerClock(lambda: boot[0])
    clock.hear(DATE)

    boot[0] += 90

    assert clock.now() == NOON + timedelta(seconds=90)


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Mon, 30 Nov 2026 12:00:00", "Mon, 99 Nov 2026 12:00:00 GMT"]
)
def test_a_header_that_is_no_date_tells_nothing(date: str) -> None:
    clock = ServerClock()
    clock.hear(date)

    assert clock.now() is None


def test_an_answer_without_a_date_leaves_what_is_known() -> None:
    clock = ServerClock(lambda: 0)
    clock.hear(DATE)

    clock.hear(None)

    assert clock.now() == NOON


def test_a_client_knows_the_time_of_the_server_that_it_asked() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {}, Date=DATE)) as api:
        client = api.client()
        client.request("GET", "/version")

    now = client.server_clock.now()
    assert now is not None
    assert NOON <= now < NOON + timedelta(minutes=1)
