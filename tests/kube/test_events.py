from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi, in_order
from tests.waiting import eventually
from webhook.kube.events import EventRecorder, Regarding

POD = Regarding(api_version="v1", kind="Pod", name="web-1", namespace="shop", uid="u1", resource_version="7")


def created(exchange: Exchange) -> None:
    exchange.reply(201, {})


def record(recorder: EventRecorder, note: str = "Successfully assigned shop/web-1 to node-1") -> None:
    recorder.record(
        POD,
        controller="custom-scheduler",
        event_type="Normal",
        reason="Scheduled",
        action="Binding",
        note=note,
    )


@contextmanager
def recording(api: FakeApi, **options: Any) -> Iterator[EventRecorder]:
    recorder = EventRecorder(api.client(), instance="host-1", wall_clock=lambda: 1.5, **options)
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.close(timeout=5)


def notes(api: FakeApi) -> list[str]:
    return [exchange.json["note"] for exchange in api.exchanges]


def test_an_event_is_written_as_kube_scheduler_writes_it() -> None:
    with FakeApi(created) as api:
        with recording(api) as recorder:
            record(recorder)

        (seen,) = api.exchanges
        assert (seen.method, seen.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/shop/events")
        assert seen.json == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web-1.59682f00", "namespace": "shop"},
            "eventTime": "1970-01-01T00:00:01.500000Z",
            "type": "Normal",
            "reason": "Scheduled",
            "action": "Binding",
            "note": "Successfully assigned shop/web-1 to node-1",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "web-1",
                "namespace": "shop",
                "uid": "u1",
                "resourceVersion": "7",
            },
            "reportingController": "custom-scheduler",
            "reportingInstance": "custom-scheduler-host-1",
        }


def test_closing_writes_what_still_waits() -> None:
    with FakeApi(created) as api:
        with recording(api) as recorder:
            for number in range(50):
                record(recorder, f"note {number}")

        assert notes(api) == [f"note {number}" for number in range(50)]


@pytest.mark.parametrize("letter", ["x", "\N{SNOWMAN}"])
def test_a_long_note_is_cut_to_what_the_api_server_takes(letter: str) -> None:
    with FakeApi(created) as api:
        with recording(api) as recorder:
            record(recorder, letter * 1025)

        (note,) = notes(api)
        assert 1020 <= len(note.encode()) <= 1024
        assert note.endswith(f"{letter} ...")


def test_a_note_that_utf8_can_not_hold_is_escaped() -> None:
    with FakeApi(created) as api:
        with recording(api) as recorder:
            record(recorder, "caf\udce9")

        assert notes(api) == ["caf\\udce9"]


def test_a_repeat_is_left_out_for_five_minutes() -> None:
    now = [0.0]

    with FakeApi(created) as api:
        with recording(api, clock=lambda: now[0]) as recorder:
            record(recorder, "same")
            record(recorder, "same")
            record(recorder, "other")
            now[0] = 299.0
            record(recorder, "same")
            now[0] = 301.0
            record(recorder, "same")

        assert notes(api) == ["same", "other", "same"]
        assert recorder.dropped == 0


def test_more_than_the_capacity_is_dropped_and_counted_without_blocking() -> None:
    release = threading.Event()

    def slow(exchange: Exchange) -> None:
        release.wait(5)
        created(exchange)

    with FakeApi(slow) as api:
        with recording(api, capacity=2) as recorder:
            record(recorder, "under way")
            api.wait_for(lambda exchanges: len(exchanges) == 1)
            for number in range(5):
                record(recorder, f"note {number}")
            release.set()

        assert notes(api) == ["under way", "note 0", "note 1"]
        assert recorder.dropped == 3


def test_a_refused_event_is_dropped_and_trouble_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def refused(exchange: Exchange) -> None:
        exchange.refuse(403)

    with FakeApi(in_order(refused, refused, created)) as api, recording(api) as recorder:
        for number in range(3):
            record(recorder, f"note {number}")
        recorder.close(timeout=5)

        assert recorder.dropped == 2
    messages = [entry.getMessage() for entry in caplog.records if entry.name.startswith("custom_scheduler")]
    assert len(messages) == 2
    assert "left out" in messages[0]
    assert "written again; 2 were left out" in messages[1]


def test_an_event_that_was_not_written_may_be_told_again() -> None:
    with FakeApi(in_order(lambda exchange: exchange.refuse(500), created)) as api, recording(api) as recorder:
        record(recorder, "same")
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        eventually(lambda: recorder.dropped, "the first one is dropped")
        record(recorder, "same")
        recorder.close(timeout=5)

        assert notes(api) == ["same", "same"]


def test_a_throttled_event_is_written_at_the_second_try() -> None:
    throttled_then_created = in_order(lambda exchange: exchange.refuse(429, Retry_After="0"), created)

    with FakeApi(throttled_then_created) as api:
        with recording(api) as recorder:
            record(recorder)

        assert len(api.exchanges) == 2
        assert recorder.dropped == 0


def test_closing_does_not_wait_longer_than_told() -> None:
    with FakeApi(Exchange.hang) as api:
        recorder = EventRecorder(api.client(), instance="host-1")
        recorder.start()
        record(recorder, "one")
        record(recorder, "two")
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        closing = threading.Thread(target=recorder.close, args=(0.05,), daemon=True)
        closing.start()
        closing.join(5)

        assert not closing.is_alive()
        assert recorder.dropped == 2


def test_after_closing_nothing_is_taken() -> None:
    with FakeApi(created) as api:
        with recording(api) as recorder:
            pass
        record(recorder)

        assert api.exchanges == []
