from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi, Script, in_order
from webhook.kube.poller import ListPoller
from webhook.scheduling.objects import NodeMetrics

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
LIST = {
    "kind": "NodeMetricsList",
    "metadata": {},
    "items": [
        {
            "metadata": {"name": "node-1"},
            "timestamp": "2026-01-01T00:00:00Z",
            "window": "20s",
            "usage": {"memory": "1Gi"},
        }
    ],
}


@contextmanager
def reading(
    script: Script, *, wanted: Callable[[], bool] = lambda: True
) -> Iterator[SimpleQueue[Sequence[NodeMetrics]]]:
    """What a poller tells that reads without a pause."""
    told: SimpleQueue[Sequence[NodeMetrics]] = SimpleQueue()
    with FakeApi(script) as api:
        reader = ListPoller(
            api.client(),
            PATH,
            NodeMetrics,
            told.put,
            wanted=wanted,
            interval=0.001,
            trouble="node metrics can't be read",
        )
        thread = threading.Thread(target=reader.run)
        thread.start()
        try:
            yield told
        finally:
            reader.stop()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


def listed(exchange: Exchange) -> None:
    assert (exchange.method, exchange.path) == ("GET", PATH)
    exchange.reply(200, LIST)


def test_all_objects_are_told() -> None:
    with reading(listed) as told:
        (measurement,) = told.get(timeout=PATIENCE_SECONDS)

    assert measurement.metadata.name == "node-1"
    assert measurement.usage == {"memory": "1Gi"}
    assert measurement.window == "20s"


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(lambda exchange: exchange.refuse(404), id="no such API"),
        pytest.param(lambda exchange: exchange.refuse(503), id="metrics-server is away"),
        pytest.param(lambda exchange: exchange.reply(200, b"<html>"), id="no JSON"),
    ],
)
def test_trouble_is_logged_once_and_told_as_no_measurement(
    refusal: Script, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with reading(in_order(refusal, refusal, listed)) as told:
        answers = [told.get(timeout=PATIENCE_SECONDS) for _ in range(3)]

    assert [len(answer) for answer in answers] == [0, 0, 1]
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "can't be read" in line] == lines[:1]
    assert lines[1:] == [f"{PATH} can be read again"]


def test_nothing_is_asked_while_it_is_not_wanted() -> None:
    looks = 0
    looked_often = threading.Event()

    def wanted() -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:
            looked_often.set()
        return False

    with reading(Exchange.hang, wanted=wanted) as told:
        assert looked_often.wait(PATIENCE_SECONDS)

    assert told.empty()
