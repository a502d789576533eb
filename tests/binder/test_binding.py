from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any

import pytest

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi, Script, in_order
from webhook.binder.binding import Binding, BindPool, BindResult, Outcome
from webhook.binder.queued_pod import QueuedPod
from webhook.kube.backoff import Backoff
from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status
from webhook.scheduling.testing import make_framework, make_pod

UID_CONFLICT = (
    'Operation cannot be fulfilled on pods "web-1": StorageError: invalid object, Code: 4, '
    "Key: /registry/pods/shop/web-1, "
    "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u1, UID in object meta: u2"
)


def assigned(node: str) -> str:
    return f'Operation cannot be fulfilled on pods/binding "web-1": pod web-1 is already assigned to node "{node}"'


def binding(**plugins: object) -> Binding:
    pod = make_pod("web-1", namespace="shop", metadata={"uid": "u1"})
    return Binding(
        queued=QueuedPod(pod, 0.0),
        pod=pod,
        node_name="node-1",
        node_uid="node-uid",
        framework=make_framework(Cache(), **plugins),
        started_at=0.0,
    )


def created(exchange: Exchange) -> None:
    exchange.reply(201, {"kind": "Status", "status": "Success", "code": 201})


def refusing(status: int, message: str = "scripted", **headers: str) -> Script:
    return lambda exchange: exchange.refuse(status, message, **headers)


class Results(Queue[BindResult]):
    def next(self) -> BindResult:
        return self.get(timeout=PATIENCE_SECONDS)


@contextmanager
def pool(api: FakeApi, **options: Any) -> Iterator[tuple[BindPool, Results]]:
    results = Results()
    options = {
        "report": results.put,
        "may_bind": lambda: True,
        "backoff": lambda: Backoff(first=0.001, longest=0.001),
        **options,
    }
    bind_pool = BindPool(api.client(), **options)
    bind_pool.start()
    try:
        yield bind_pool, results
    finally:
        bind_pool.close(timeout=5)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("bind-")]


def bind(script: Script, item: Binding | None = None, **options: Any) -> tuple[BindResult, list[Exchange]]:
    with FakeApi(script) as api, pool(api, **options) as (bind_pool, results):
        bind_pool.submit(item or binding())
        return results.next(), api.exchanges


def test_a_pod_is_bound_by_uid_and_judged_by_the_http_status() -> None:
    result, exchanges = bind(created)

    assert result.outcome is Outcome.BOUND
    (seen,) = exchanges
    assert (seen.method, seen.path) == ("POST", "/api/v1/namespaces/shop/pods/web-1/binding")
    assert seen.json == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (409, assigned("node-1"), Outcome.BOUND),
        (409, assigned("node-2"), Outcome.TAKEN),
        (409, assigned("node-10"), Outcome.TAKEN),
        (409, UID_CONFLICT, Outcome.GONE),
        (409, "pod web-1 is being deleted, cannot be assigned to a host", Outcome.GONE),
        (404, 'pods "web-1" not found', Outcome.GONE),
        (409, "pod web-1 has non-empty .spec.schedulingGates", Outcome.REFUSED),
        (409, "the object has been modified", Outcome.REFUSED),
        (403, "forbidden", Outcome.REFUSED),
        (422, "invalid", Outcome.REFUSED),
        (500, "internal error", Outcome.REFUSED),
    ],
)
def test_a_refusal_is_final_and_judged_by_what_it_says(status: int, message: str, outcome: Outcome) -> None:
    result, exchanges = bind(refusing(status, message))

    assert result.outcome is outcome
    assert len(exchanges) == 1
    if outcome is Outcome.REFUSED:
        assert result.status.code is Code.ERROR
        assert message in result.status.message


def test_without_an_answer_the_request_is_sent_again_until_there_is_one() -> None:
    """The first was carried out, and its answer was lost."""
    result, exchanges = bind(in_order(Exchange.cut, Exchange.cut, refusing(409, assigned("node-1"))))

    assert result.outcome is Outcome.BOUND
    assert len(exchanges) == 3


def test_a_throttled_request_is_sent_again() -> None:
    result, exchanges = bind(in_order(refusing(429, Retry_After="0"), created))

    assert result.outcome is Outcome.BOUND
    assert len(exchanges) == 2


def test_a_replica_that_does_not_lead_sends_nothing() -> None:
    result, exchanges = bind(created, may_bind=lambda: False)

    assert result.outcome is Outcome.ABANDONED
    assert exchanges == []


def test_leadership_is_asked_for_before_each_request() -> None:
    leads = iter([True, True, True, False])

    result, exchanges = bind(Exchange.cut, may_bind=lambda: next(leads))

    assert result.outcome is Outcome.ABANDONED
    assert len(exchanges) == 1


def test_a_cancelled_binding_sends_nothing() -> None:
    item = binding()
    item.cancelled = True

    result, exchanges = bind(created, item)

    assert result.outcome is Outcome.ABANDONED
    assert exchanges == []


def test_a_binding_cancelled_while_plugins_prepare_it_sends_nothing() -> None:
    class Slow:
        def pre_bind(self, pod: Pod, node_name: str) -> Status:
            item.cancelled = True
            return SUCCESS

    item = binding(Slow=Slow())
    result, exchanges = bind(created, item)

    assert result.outcome is Outcome.ABANDONED
    assert exchanges == []


def test_a_plugin_that_refuses_in_pre_bind_is_named_and_nothing_is_sent() -> None:
    class Picky:
        def pre_bind(self, pod: Pod, node_name: str) -> Status:
            return Status(Code.UNSCHEDULABLE, ("not today",))

    result, exchanges = bind(created, binding(Picky=Picky()))

    assert result.outcome is Outcome.REFUSED
    assert result.status == Status(Code.UNSCHEDULABLE, ("not today",), "Picky")
    assert exchanges == []


def test_a_plugin_can_bind_in_our_place_and_plugins_are_told_of_the_end() -> None:
    told: list[str] = []

    class Own:
        def bind(self, pod: Pod, node_name: str) -> Status:
            return SUCCESS

        def post_bind(self, pod: Pod, node_name: str) -> None:
            told.append(f"{pod.key} on {node_name}")

    result, exchanges = bind(created, binding(Own=Own()))

    assert result.outcome is Outcome.BOUND
    assert exchanges == []
    assert told == ["shop/web-1 on node-1"]


@pytest.mark.parametrize("fault", [ZeroDivisionError, asyncio.CancelledError])
def test_a_plugin_that_raises_in_bind_fails_that_binding_only(fault: type[BaseException]) -> None:
    class Broken:
        def bind(self, pod: Pod, node_name: str) -> Status:
            raise fault

    with FakeApi(created) as api, pool(api, threads=1) as (bind_pool, results):
        bind_pool.submit(binding(Broken=Broken()))
        assert results.next().outcome is Outcome.REFUSED
        bind_pool.submit(binding())
        assert results.next().outcome is Outcome.BOUND


def test_no_fault_of_ours_ends_a_thread_either() -> None:
    item = binding()
    item.framework.pre_bind = panic  # type: ignore[method-assign, assignment]

    with FakeApi(created) as api, pool(api, threads=1) as (bind_pool, results):
        bind_pool.submit(item)
        assert results.next().status == Status(Code.ERROR, ("CancelledError: panic",))
        bind_pool.submit(binding())
        assert results.next().outcome is Outcome.BOUND


def panic(_pod: Pod, _node_name: str) -> Status:
    raise asyncio.CancelledError("panic")


def test_bindings_go_out_side_by_side() -> None:
    together = threading.Barrier(4)

    def script(exchange: Exchange) -> None:
        together.wait(PATIENCE_SECONDS)
        created(exchange)

    with FakeApi(script) as api, pool(api, threads=4) as (bind_pool, results):
        for _ in range(4):
            bind_pool.submit(binding())

        assert {results.next().outcome for _ in range(4)} == {Outcome.BOUND}


def test_closing_lets_a_request_under_way_end() -> None:
    arrived, release = threading.Event(), threading.Event()

    def script(exchange: Exchange) -> None:
        arrived.set()
        release.wait(PATIENCE_SECONDS)
        created(exchange)

    with FakeApi(script) as api:
        results = Results()
        bind_pool = BindPool(api.client(), report=results.put, may_bind=lambda: True)
        bind_pool.start()
        bind_pool.submit(binding())
        assert arrived.wait(PATIENCE_SECONDS)
        closing = threading.Thread(target=bind_pool.close, args=(PATIENCE_SECONDS,))
        closing.start()
        release.set()
        closing.join(PATIENCE_SECONDS)

        assert results.next().outcome is Outcome.BOUND


def test_closing_does_not_wait_for_ever() -> None:
    with FakeApi(Exchange.hang) as api:
        results = Results()
        bind_pool = BindPool(api.client(), report=results.put, may_bind=lambda: True)
        bind_pool.start()
        bind_pool.submit(binding())
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        bind_pool.close(timeout=0.05)

        assert results.next().outcome is Outcome.ABANDONED
