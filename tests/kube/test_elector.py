from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi
from tests.waiting import eventually
from webhook.kube.elector import Elector, LeaseTiming

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"


class LeaseServer:
    """The API server's part: one Lease with optimistic locking. `trouble` answers in its place while it is set."""

    def __init__(self, lease: dict[str, Any] | None = None) -> None:
        self.lease = lease
        self.trouble: Callable[[Exchange], None] | None = None
        self._lock = threading.Lock()

    def __call__(self, exchange: Exchange) -> None:
        with self._lock:
            if self.trouble is not None:
                self.trouble(exchange)
            elif exchange.method == "POST":
                self._write(exchange, allowed=self.lease is None, status=201)
            elif self.lease is None:
                exchange.refuse(404)
            elif exchange.method == "GET":
                exchange.reply(200, self.lease)
            else:
                seen = exchange.json["metadata"]["resourceVersion"]
                self._write(exchange, allowed=seen == self.lease["metadata"]["resourceVersion"], status=200)

    def _write(self, exchange: Exchange, *, allowed: bool, status: int) -> None:
        if not allowed:
            exchange.refuse(409, reason="Conflict")
            return
        self.lease = exchange.json
        self.touch()
        exchange.reply(status, self.lease)

    def touch(self, **spec: object) -> None:
        assert self.lease is not None
        version = int(self.lease["metadata"].get("resourceVersion", "0")) + 1
        self.lease = {
            **self.lease,
            "metadata": {**self.lease["metadata"], "resourceVersion": str(version)},
            "spec": {**self.lease["spec"], **spec},
        }

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


def lease(holder: str, **spec: object) -> dict[str, Any]:
    return {
        "metadata": {"name": "lock", "namespace": "ns", "resourceVersion": "1", "labels": {"kept": "yes"}},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "leaseTransitions": 3,
            "strategy": "x",
            **spec,
        },
    }


class Replica:
    """An elector in a thread that makes one attempt each time the test says so, by a clock of the test's own."""

    def __init__(self, api: FakeApi, identity: str, *, request_seconds: float = PATIENCE_SECONDS) -> None:
        self.now = 1000.0
        self.calls: list[str] = []
        self.waits: queue.Queue[float] = queue.Queue()
        self._turns: queue.Queue[None] = queue.Queue()
        self.elector = Elector(
            api.client(),
            namespace="ns",
            name="lock",
            identity=identity,
            on_started=self._started,
            on_stopped=lambda: self.calls.append("stopped"),
            timing=LeaseTiming(request=request_seconds),
            clock=lambda: self.now,
            wall_clock=lambda: self.now,
            rng=lambda: 0.0,
            wait=self._wait,
        )
        self.thread = threading.Thread(target=self.elector.run, daemon=True)

    def _started(self, taken: bool) -> None:
        self.calls.append("taken" if taken else "started")

    def _wait(self, seconds: float) -> None:
        self.waits.put(seconds)
        self._turns.get()

    def attempt(self, after: float = 0.0) -> bool:
        """Let the clock go on, make one attempt and tell whether it leads."""
        self.now += after
        if self.thread.ident is None:
            self.thread.start()
        else:
            self._turns.put(None)
        self.waits.get(timeout=PATIENCE_SECONDS)
        return self.elector.is_leader()

    def stop(self) -> None:
        if self.thread.ident is not None:
            self.elector.stop()
            self._turns.put(None)
            self.thread.join(PATIENCE_SECONDS)
            assert not self.thread.is_alive()


@contextmanager
def replicas(server: LeaseServer, *identities: str, **options: float) -> Iterator[list[Replica]]:
    with FakeApi(server) as api:
        several = [Replica(api, identity, **options) for identity in identities]
        try:
            yield several
        finally:
            server.trouble = None
            for each in several:
                each.stop()


def test_the_first_replica_makes_the_lease_and_leads() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        assert one.attempt()

        assert one.calls == ["started"]
        assert server.spec == {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "1970-01-01T00:16:40.000000Z",
            "renewTime": "1970-01-01T00:16:40.000000Z",
            "leaseTransitions": 0,
        }


def test_a_second_replica_does_not_lead_while_the_first_renews() -> None:
    server = LeaseServer()

    with replicas(server, "one", "two") as (one, two):
        for _ in range(20):
            assert one.attempt(after=2)
            assert not two.attempt(after=2)

    assert two.calls == []


def test_a_held_lease_is_taken_when_it_has_not_changed_for_its_duration_by_our_own_clock() -> None:
    with replicas(LeaseServer(lease("gone")), "two") as (two,):
        assert not two.attempt()
        assert not two.attempt(after=14.9)
        assert two.attempt(after=0.2)
        assert two.calls == ["taken"]


def test_the_duration_in_the_record_decides_not_ours() -> None:
    with replicas(LeaseServer(lease("gone", leaseDurationSeconds=60)), "two") as (two,):
        assert not two.attempt()
        assert not two.attempt(after=59)
        assert two.attempt(after=2)


def test_the_times_in_the_record_do_not_matter() -> None:
    server = LeaseServer(lease("there", renewTime="1970-01-01T00:00:00.000000Z"))

    with replicas(server, "two") as (two,):
        assert not two.attempt(after=1e6)


def test_a_change_of_the_record_begins_the_wait_anew() -> None:
    server = LeaseServer(lease("there"))

    with replicas(server, "two") as (two,):
        two.attempt()
        two.attempt(after=10)
        server.touch(renewTime="later")
        assert not two.attempt(after=10)
        assert not two.attempt(after=10)
        assert two.attempt(after=5)


def test_a_released_lease_is_taken_at_once() -> None:
    with replicas(LeaseServer(lease("")), "two") as (two,):
        assert two.attempt()
        assert two.calls == ["started"]


def test_taking_over_counts_a_transition_and_keeps_fields_it_does_not_know() -> None:
    server = LeaseServer(lease(""))

    with replicas(server, "two") as (two,):
        two.attempt()

        assert server.spec["leaseTransitions"] == 4
        assert server.spec["strategy"] == "x"
        assert server.lease is not None
        assert server.lease["metadata"]["labels"] == {"kept": "yes"}


def test_a_renewal_keeps_transitions_and_the_time_of_acquiring() -> None:
    server = LeaseServer(lease("", acquireTime="before"))

    with replicas(server, "two") as (two,):
        two.attempt()
        server.touch(acquireTime="then")
        assert two.attempt(after=2)

        assert (server.spec["leaseTransitions"], server.spec["acquireTime"]) == (4, "then")


def test_a_renewal_is_one_request() -> None:
    server = LeaseServer()

    with FakeApi(server) as api:
        one = Replica(api, "one")
        one.attempt()
        before = len(api.exchanges)
        one.attempt(after=2)

        assert [exchange.method for exchange in api.exchanges[before:]] == ["PUT"]
        one.stop()


def test_leading_ends_by_the_clock_when_renewals_fail() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        server.trouble = lambda exchange: exchange.refuse(500)
        assert one.attempt(after=9)
        assert one.calls == ["started"]
        one.now += 1.1
        assert not one.elector.is_leader()
        one.attempt()

        assert one.calls == ["started", "stopped"]


def test_leading_is_counted_from_the_question_not_from_the_answer() -> None:
    server = LeaseServer()

    with FakeApi(server) as api:
        one = Replica(api, "one")

        def slow(exchange: Exchange) -> None:
            one.now += 4
            server.trouble = None
            server._lock.release()
            server(exchange)
            server._lock.acquire()

        server.trouble = slow
        assert one.attempt()
        one.now += 6.1
        assert not one.elector.is_leader()
        one.stop()


def test_a_replica_that_slept_through_its_lease_does_not_lead() -> None:
    with replicas(LeaseServer(), "one") as (one,):
        one.attempt()
        one.now += 3600

        assert not one.elector.is_leader()


def test_silence_on_a_renewal_does_not_keep_a_replica_leading() -> None:
    server = LeaseServer()

    with replicas(server, "one", request_seconds=0.2) as (one,):
        eventually(one.attempt, "the first answer comes in time")
        server.trouble = Exchange.hang
        one.attempt(after=11)

        assert not one.elector.is_leader()
        assert one.calls == ["started", "stopped"]
        server.trouble = None


def test_a_leader_whose_lease_was_taken_stops_at_once() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        server.touch(holderIdentity="two")

        assert not one.attempt(after=2)
        assert one.calls == ["started", "stopped"]


def test_a_write_by_others_that_leaves_us_the_holder_costs_nothing() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        server.touch()

        assert one.attempt(after=2)
        assert one.calls == ["started"]


def test_a_deleted_lease_is_made_again() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        server.lease = None

        assert one.attempt(after=2)
        assert server.spec["holderIdentity"] == "one"


def test_of_two_that_want_a_free_lease_one_gets_it() -> None:
    with replicas(LeaseServer(lease("")), "one", "two") as (one, two):
        assert [one.attempt(), two.attempt()] == [True, False]


@pytest.mark.parametrize("skew", [-60.0, 60.0])
def test_two_replicas_never_lead_together_whatever_their_clocks(skew: float) -> None:
    """The holder dies; at each second, whoever is asked, at most one says that it leads."""
    server = LeaseServer()

    with replicas(server, "one", "two") as (one, two):
        two.now += skew
        one.attempt()
        two.attempt()
        led = set()
        for _ in range(20):
            one.now += 1
            two.attempt(after=1)
            leaders = [each.elector.is_leader() for each in (one, two)]
            assert leaders.count(True) <= 1
            led.add(tuple(leaders))

    assert led == {(True, False), (False, False), (False, True)}


def test_stopping_gives_the_lease_back() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        one.stop()

        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
        assert one.calls == ["started", "stopped"]
        assert not one.elector.is_leader()


def test_a_lease_that_changed_since_the_last_renewal_is_given_back_too() -> None:
    server = LeaseServer()

    with replicas(server, "one") as (one,):
        one.attempt()
        server.touch()
        one.stop()

        assert server.spec["holderIdentity"] == ""


def test_a_replica_that_does_not_lead_gives_nothing_back() -> None:
    server = LeaseServer(lease("there"))

    with replicas(server, "two") as (two,):
        two.attempt()
        two.stop()

    assert server.spec["holderIdentity"] == "there"


def test_stopping_ends_a_renewal_that_waits_for_an_answer() -> None:
    arrived = threading.Event()

    def hang(exchange: Exchange) -> None:
        arrived.set()
        exchange.hang()

    with FakeApi(hang) as api:
        elector = Elector(
            api.client(),
            namespace="ns",
            name="lock",
            identity="one",
            on_started=lambda taken: None,
            on_stopped=lambda: None,
            timing=LeaseTiming(request=60),
        )
        thread = threading.Thread(target=elector.run, daemon=True)
        thread.start()
        assert arrived.wait(PATIENCE_SECONDS)
        elector.stop()
        thread.join(2)

        assert not thread.is_alive()


def test_trouble_is_logged_once_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = LeaseServer(lease("there"))
    server.trouble = lambda exchange: exchange.refuse(403)

    with replicas(server, "two") as (two,):
        for _ in range(3):
            two.attempt()
        assert two.elector.fault is not None
        server.trouble = None
        two.attempt()
        assert two.elector.fault is None

    messages = [
        record.getMessage() for record in caplog.records if record.name.startswith("custom_scheduler")
    ]
    assert len(messages) == 2
    assert "RBAC" in messages[0]
    assert "within reach again" in messages[1]


def test_a_lease_whose_namespace_is_not_there_is_told_of_until_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = LeaseServer()
    server.trouble = lambda exchange: exchange.refuse(404)

    with replicas(server, "one") as (one,):
        assert not one.attempt()
        assert not one.attempt()
        assert one.elector.fault == (
            "Lease ns/lock can't be held: namespace ns is not there; create it, or give --namespace"
        )
        assert caplog.messages == [one.elector.fault]
        server.trouble = None
        assert one.attempt()
        assert one.elector.fault is None


def test_seekers_wait_a_random_time_and_the_holder_its_retry_time() -> None:
    server = LeaseServer(lease("there"))

    with FakeApi(server) as api:
        two = Replica(api, "two")
        two.elector._rng = lambda: 0.5
        two.thread.start()
        assert two.waits.get(timeout=PATIENCE_SECONDS) == 3.0
        server.touch(holderIdentity="")
        two._turns.put(None)
        assert two.waits.get(timeout=PATIENCE_SECONDS) == 2.0
        two.stop()
