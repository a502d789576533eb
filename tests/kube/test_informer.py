from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi, Script, in_order
from tests.waiting import eventually
from webhook.kube.informer import Change, Informer
from webhook.kube.meta import ObjectMeta

PATH = "/api/v1/things"


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    size: int = 0


def thing(name: str, version: str, *, uid: str | None = None, size: object = 0) -> dict[str, Any]:
    meta = {"namespace": "ns", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": version}
    return {"metadata": meta, "size": size}


def listing(version: str, *things: dict[str, Any], token: str = "") -> Script:
    meta = {"resourceVersion": version, "continue": token}
    return lambda exchange: exchange.reply(200, {"metadata": meta, "items": list(things)})


def watching(*events: tuple[str, object], then: Script = Exchange.hang) -> Script:
    def watch(exchange: Exchange) -> None:
        assert exchange.query["watch"] == "true"
        exchange.open_stream()
        for kind, item in events:
            exchange.event(kind, item)
        then(exchange)

    return watch


def refusing(status: int, **headers: str) -> Script:
    return lambda exchange: exchange.refuse(status, **headers)


def bookmark(version: str) -> tuple[str, object]:
    # As the API server sends it for pods: an object that the kind's own type would not accept.
    return "BOOKMARK", {"metadata": {"resourceVersion": version, "creationTimestamp": None}, "size": None}


def told(change: Change[Thing]) -> str:
    """Write a change as `old -> new`, each as name@version."""
    old, new = (
        f"{each.metadata.name}@{each.metadata.resource_version}" if each else "-"
        for each in (change.old, change.new)
    )
    return f"{old} -> {new}"


class Follower:
    """An informer in a thread, and what it told and how long it meant to wait."""

    def __init__(
        self, api: FakeApi, handler: Callable[[Change[Thing]], None] | None = None, **options: Any
    ) -> None:
        self._arrival = threading.Condition()
        self._handler = handler
        self.changes: list[str] = []
        self.waits: list[float] = []
        options = {"wait": self.waits.append, "rng": lambda: 0.0, **options}
        self.informer = Informer(api.client(), PATH, Thing, self._told, **options)
        self.thread = threading.Thread(target=self.informer.run, daemon=True)

    def _told(self, change: Change[Thing]) -> None:
        with self._arrival:
            self.changes.append(told(change))
            self._arrival.notify_all()
        if self._handler is not None:
            self._handler(change)

    def expect(self, *changes: str) -> None:
        """Wait until as many changes were told, and compare."""
        with self._arrival:
            self._arrival.wait_for(lambda: len(self.changes) >= len(changes), PATIENCE_SECONDS)
            assert self.changes == list(changes)


@contextmanager
def following(api: FakeApi, **options: Any) -> Iterator[Follower]:
    follower = Follower(api, **options)
    follower.thread.start()
    try:
        yield follower
    finally:
        follower.informer.stop()
        follower.thread.join(PATIENCE_SECONDS)
        assert not follower.thread.is_alive()


def versions(api: FakeApi) -> list[str]:
    """What each request started from: `list`, or the version of a watch."""
    return [exchange.query.get("resourceVersion", "list") for exchange in api.exchanges]


def test_a_list_is_told_as_additions_and_then_synced() -> None:
    with FakeApi(in_order(listing("9", thing("a", "7"), thing("b", "3")))) as api, following(api) as follower:
        follower.expect("- -> a@7", "- -> b@3")
        assert follower.informer.synced.wait(PATIENCE_SECONDS)


def test_a_list_comes_in_pages_of_one_snapshot() -> None:
    with (
        FakeApi(in_order(listing("9", thing("a", "7"), token="more"), listing("9", thing("b", "3")))) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@7", "- -> b@3")

        assert api.exchanges[0].query == {"limit": "500"}
        assert api.exchanges[1].query == {"limit": "500", "continue": "more"}


def test_the_watch_starts_at_the_version_of_the_list_not_of_its_items() -> None:
    with FakeApi(in_order(listing("9", thing("a", "7")), watching())) as api, following(api):
        api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert versions(api) == ["list", "9"]


def test_the_query_is_part_of_list_and_watch_and_the_watch_has_a_timeout_and_bookmarks() -> None:
    query = [("fieldSelector", "status.phase!=Failed")]

    with FakeApi(in_order(listing("9"), watching())) as api, following(api, query=query):
        asked, watched = api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert asked.query == {"fieldSelector": "status.phase!=Failed", "limit": "500"}
    assert watched.query == {
        "fieldSelector": "status.phase!=Failed",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "9",
        "timeoutSeconds": "60",
    }


def test_events_are_told_with_the_object_before_and_after() -> None:
    events = [("ADDED", thing("a", "10")), ("MODIFIED", thing("a", "11")), ("DELETED", thing("a", "12"))]

    with FakeApi(in_order(listing("9"), watching(*events))) as api, following(api) as follower:
        follower.expect("- -> a@10", "a@10 -> a@11", "a@11 -> -")


def test_an_object_replaced_under_its_name_is_deleted_and_then_added() -> None:
    with (
        FakeApi(
            in_order(listing("9", thing("a", "7")), watching(("MODIFIED", thing("a", "10", uid="other"))))
        ) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@7", "a@7 -> -", "- -> a@10")


def test_an_unchanged_version_is_not_told_again() -> None:
    events = [("MODIFIED", thing("a", "7")), ("ADDED", thing("b", "10"))]

    with (
        FakeApi(in_order(listing("9", thing("a", "7")), watching(*events))) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@7", "- -> b@10")


def test_a_deletion_of_an_unknown_object_is_not_told() -> None:
    events = [("DELETED", thing("a", "10")), ("ADDED", thing("b", "11"))]

    with FakeApi(in_order(listing("9"), watching(*events))) as api, following(api) as follower:
        follower.expect("- -> b@11")


@pytest.mark.parametrize("ending", [Exchange.end_stream, Exchange.cut])
def test_an_ended_watch_goes_on_from_the_last_event_without_a_new_list(ending: Script) -> None:
    with (
        FakeApi(
            in_order(
                listing("9"),
                watching(("ADDED", thing("a", "10")), then=ending),
                watching(("ADDED", thing("b", "11"))),
            )
        ) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@10", "- -> b@11")

    assert versions(api) == ["list", "9", "10"]


def test_an_event_that_is_cut_off_is_told_when_it_comes_whole() -> None:
    def half(exchange: Exchange) -> None:
        exchange.chunk(b'{"type":"ADDED","object":{"metadata"')
        exchange.cut()

    with (
        FakeApi(in_order(listing("9"), watching(then=half), watching(("ADDED", thing("a", "10"))))) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@10")

    assert versions(api) == ["list", "9", "9"]


def test_a_bookmark_moves_the_version_and_is_not_told() -> None:
    with (
        FakeApi(
            in_order(listing("9"), watching(bookmark("50"), then=Exchange.end_stream), watching())
        ) as api,
        following(api) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 3)

    assert versions(api) == ["list", "9", "50"]
    assert follower.changes == []


def test_an_unknown_event_type_is_ignored() -> None:
    events = [("SURPRISE", thing("a", "10")), ("ADDED", thing("b", "11"))]

    with FakeApi(in_order(listing("9"), watching(*events))) as api, following(api) as follower:
        follower.expect("- -> b@11")


@pytest.mark.parametrize(
    "expired",
    [
        pytest.param(
            watching(("ERROR", {"code": 410, "reason": "Expired", "message": "too old"})), id="in the stream"
        ),
        pytest.param(refusing(410), id="as the answer"),
    ],
)
def test_an_expired_version_leads_to_one_new_list_that_tells_what_changed_meanwhile(expired: Script) -> None:
    script = in_order(
        listing("9", thing("gone", "1"), thing("kept", "2"), thing("changed", "3"), thing("replaced", "4")),
        expired,
        listing(
            "20",
            thing("kept", "2"),
            thing("changed", "13"),
            thing("replaced", "14", uid="x"),
            thing("new", "15"),
        ),
        watching(),
    )
    with FakeApi(script) as api, following(api) as follower:
        api.wait_for(lambda exchanges: len(exchanges) == 4)

        assert follower.changes[4:] == [
            "gone@1 -> -",
            "changed@3 -> changed@13",
            "replaced@4 -> -",
            "- -> replaced@14",
            "- -> new@15",
        ]
    assert versions(api) == ["list", "9", "list", "20"]
    assert follower.waits == [0.8]


def test_a_snapshot_that_expires_while_it_is_paged_is_listed_in_one_piece() -> None:
    script = in_order(
        listing("9", thing("a", "7"), token="more"), refusing(410), listing("12", thing("a", "7")), watching()
    )
    with FakeApi(script) as api, following(api) as follower:
        api.wait_for(lambda exchanges: len(exchanges) == 4)

        assert follower.changes == ["- -> a@7"]
    assert "limit" not in api.exchanges[2].query


def test_too_large_a_version_leads_to_a_new_list() -> None:
    # 504 is what the API server answers after etcd was restored from a backup.
    with FakeApi(in_order(listing("9000"), refusing(504), listing("12"), watching())) as api, following(api):
        api.wait_for(lambda exchanges: len(exchanges) == 4)

    assert versions(api) == ["list", "9000", "list", "12"]


def test_a_throttled_watch_waits_as_told_and_goes_on_without_a_new_list() -> None:
    with (
        FakeApi(in_order(listing("9"), refusing(429, Retry_After="7"), watching())) as api,
        following(api) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 3)

    assert versions(api) == ["list", "9", "9"]
    assert follower.waits == [7.0]


def test_a_server_in_trouble_is_asked_ever_more_seldom() -> None:
    with (
        FakeApi(in_order(*[refusing(500)] * 8, listing("9"), watching())) as api,
        following(api) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 10)

    assert follower.waits == [0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0, 10.0]


def test_waits_are_stretched_at_random() -> None:
    with (
        FakeApi(in_order(refusing(500), listing("9"), watching())) as api,
        following(api, rng=lambda: 0.5) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 3)

    assert follower.waits == [pytest.approx(1.2)]


def test_a_watch_that_delivered_begins_its_waits_anew() -> None:
    script = in_order(
        refusing(500), listing("9"), watching(("ADDED", thing("a", "10")), then=Exchange.cut), refusing(500)
    )
    with FakeApi(script) as api, following(api) as follower:
        api.wait_for(lambda exchanges: len(exchanges) == 5)

    assert follower.waits == [0.8, 0.8, 1.6]


def test_a_watch_that_ends_at_once_with_nothing_is_not_reopened_at_once() -> None:
    ends_at_once = watching(then=Exchange.end_stream)

    with (
        FakeApi(in_order(listing("9"), ends_at_once, ends_at_once, watching())) as api,
        following(api, clock=lambda: 0.0) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 4)

    assert follower.waits == [0.8, 1.6]


def test_a_watch_that_ended_by_the_clock_with_nothing_is_reopened_at_once() -> None:
    ticks = iter(range(0, 10_000, 60))

    with (
        FakeApi(in_order(listing("9"), watching(then=Exchange.end_stream), watching())) as api,
        following(api, clock=lambda: float(next(ticks))) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 3)

    assert follower.waits == []


def test_a_dead_connection_is_found_by_its_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.kube.informer.WATCH_SECONDS", (0, 0))
    monkeypatch.setattr("webhook.kube.informer.SLACK_SECONDS", 0.05)

    with (
        FakeApi(in_order(listing("9"), watching(), watching(("ADDED", thing("a", "10"))))) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@10")


def test_a_line_that_is_no_event_is_skipped_by_asking_again() -> None:
    def nonsense(exchange: Exchange) -> None:
        exchange.chunk(b"<html>\n")
        exchange.hang()

    with (
        FakeApi(
            in_order(listing("9"), watching(then=nonsense), watching(("ADDED", thing("a", "10"))))
        ) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@10")

    assert versions(api) == ["list", "9", "9"]


def test_an_object_that_cannot_be_read_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    script = in_order(
        listing("9", thing("a", "7"), thing("odd", "8", size="large")),
        watching(("ADDED", thing("odder", "10", size=[])), ("ADDED", thing("b", "11"))),
    )
    with FakeApi(script) as api, following(api) as follower:
        follower.expect("- -> a@7", "- -> b@11")

    assert [
        record.args[0] for record in caplog.records if isinstance(record.args, tuple) and record.args
    ] == [
        "ns/odd",
        "ns/odder",
    ]


def test_a_handler_that_fails_loses_its_change_only(caplog: pytest.LogCaptureFixture) -> None:
    def fail(change: Change[Thing]) -> None:
        if told(change) == "- -> a@7":
            raise ZeroDivisionError

    with (
        FakeApi(
            in_order(listing("9", thing("a", "7"), thing("b", "8")), watching(("MODIFIED", thing("a", "10"))))
        ) as api,
        following(api, handler=fail) as follower,
    ):
        follower.expect("- -> a@7", "- -> b@8", "a@7 -> a@10")

    assert "the handler of /api/v1/things failed on ns/a" in caplog.text


def test_trouble_is_logged_once_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    with (
        FakeApi(
            in_order(
                *[Exchange.cut] * 2, *[refusing(403)] * 3, listing("9"), watching(("ADDED", thing("a", "10")))
            )
        ) as api,
        following(api) as follower,
    ):
        follower.expect("- -> a@10")

        assert follower.informer.fault is None
    messages = [
        record.getMessage() for record in caplog.records if record.name.startswith("custom_scheduler")
    ]
    assert len(messages) == 3
    assert "the connection broke" in messages[0]
    assert "answered 403" in messages[1]
    assert "RBAC" in messages[1]
    assert messages[2] == "watching /api/v1/things again"


def test_a_list_that_is_needed_after_an_outage_does_not_wait_as_long_as_the_outage_made_us_wait() -> None:
    expired = watching(("ERROR", {"code": 410}))

    with (
        FakeApi(in_order(listing("9"), *[Exchange.cut] * 5, expired, listing("20"), watching())) as api,
        following(api) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 9)

    assert follower.waits == [0.8, 1.6, 3.2, 6.4, 10.0, 0.8]


def test_present_trouble_can_be_read() -> None:
    with FakeApi(refusing(401)) as api, following(api, wait=lambda seconds: time.sleep(0.01)) as follower:
        api.wait_for(lambda exchanges: len(exchanges) == 2)

        assert follower.informer.fault is not None
        assert "answered 401" in follower.informer.fault
        assert not follower.informer.synced.is_set()


def test_a_new_list_on_request_tells_what_changed_and_is_synced_after_it() -> None:
    with (
        FakeApi(
            in_order(listing("9", thing("a", "7")), watching(), listing("12", thing("a", "11")), watching())
        ) as api,
        following(api) as follower,
    ):
        api.wait_for(lambda exchanges: len(exchanges) == 2)
        follower.informer.relist()
        assert follower.informer.synced.wait(PATIENCE_SECONDS)

        assert follower.changes == ["- -> a@7", "a@7 -> a@11"]


def test_a_new_list_that_is_asked_for_right_before_the_watch_is_made_first() -> None:
    def ask_once() -> None:
        if len(api.exchanges) == 1:
            follower.informer.relist()

    with FakeApi(in_order(listing("9"), listing("10"), watching())) as api:
        follower = Follower(api, on_synced=ask_once)
        follower.thread.start()
        api.wait_for(lambda exchanges: len(exchanges) == 3)
        follower.informer.stop()
        follower.thread.join(PATIENCE_SECONDS)

    assert versions(api) == ["list", "list", "10"]
    assert follower.informer.synced.is_set()


def test_a_new_list_on_request_does_not_wait_for_a_backoff() -> None:
    with FakeApi(in_order(refusing(500), listing("9"), watching())) as api:
        follower = Follower(api)
        informer = Informer(api.client(), PATH, Thing, follower._told, rng=lambda: 50.0)
        thread = threading.Thread(target=informer.run, daemon=True)
        thread.start()
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        eventually(lambda: informer.fault, "the first list fails")
        informer.relist()

        assert informer.synced.wait(PATIENCE_SECONDS)
        informer.stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(in_order(listing("9"), watching()), id="in a silent watch"),
        pytest.param(refusing(500), id="in a backoff"),
    ],
)
def test_stopping_ends_the_thread_soon(script: Script) -> None:
    with FakeApi(script) as api:
        informer = Informer(api.client(), PATH, Thing, lambda change: None, rng=lambda: 100.0)
        thread = threading.Thread(target=informer.run, daemon=True)
        thread.start()
        api.wait_for(lambda exchanges: len(exchanges) >= 1)
        informer.stop()
        thread.join(2)

        assert not thread.is_alive()
