from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi
from tests.waiting import eventually
from webhook.binder.plugins import Plugins
from webhook.binder.service import BinderService
from webhook.kube.elector import LeaseTiming
from webhook.scheduling.cache import Cache
from webhook.scheduling.testing import make_framework

QUICK = LeaseTiming(retry=0.05)


class Cluster:
    """As much of an API server as a scheduler needs: nodes, pods, bindings and one Lease. Watches stay silent."""

    def __init__(self) -> None:
        self.away = False
        self.lease: dict[str, Any] | None = None
        self.bound: dict[str, str] = {}
        self.pods = ["a"]
        self._lock = threading.Lock()

    def __call__(self, exchange: Exchange) -> None:
        with self._lock:
            answer = self._answer(exchange)
        answer(exchange)

    def _answer(self, exchange: Exchange) -> Callable[[Exchange], None]:
        path = exchange.path
        if self.away:
            return Exchange.cut
        if exchange.query.get("watch"):
            return _silent
        if "/leases" in path:
            return self._lease(exchange)
        if path.endswith("/binding"):
            self.bound[exchange.json["metadata"]["name"]] = exchange.json["target"]["name"]
            return lambda exchange: exchange.reply(201, {})
        if path == "/api/v1/nodes":
            return _listing(
                {"metadata": meta("node-1"), "status": {"allocatable": {"cpu": "4", "pods": "110"}}}
            )
        if path == "/api/v1/pods":
            return _listing(*[self._pod(name) for name in self.pods])
        if exchange.method == "GET":
            return _listing()
        return lambda exchange: exchange.reply(200, {})

    def _pod(self, name: str) -> dict[str, Any]:
        return {
            "metadata": {**meta(name), "namespace": "default"},
            "spec": {
                "schedulerName": "custom-scheduler",
                "containers": [],
                "nodeName": self.bound.get(name, ""),
            },
        }

    def _lease(self, exchange: Exchange) -> Callable[[Exchange], None]:
        if exchange.method != "GET":
            known = (self.lease or {}).get("metadata", {}).get("resourceVersion")
            if exchange.json["metadata"].get("resourceVersion") != known:
                return lambda exchange: exchange.refuse(409)
            version = str(int(known or 0) + 1)
            metadata = {**exchange.json["metadata"], "resourceVersion": version}
            self.lease = {**exchange.json, "metadata": metadata}
        lease = self.lease
        return (
            (lambda exchange: exchange.reply(200, lease))
            if lease
            else (lambda exchange: exchange.refuse(404))
        )

    @property
    def holder(self) -> str:
        return self.lease["spec"]["holderIdentity"] if self.lease else ""


def meta(name: str) -> dict[str, str]:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}


def _silent(exchange: Exchange) -> None:
    exchange.open_stream()
    exchange.hang()


def _listing(*items: dict[str, Any]) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.reply(200, {"metadata": {"resourceVersion": "9"}, "items": list(items)})


@contextmanager
def service(api: FakeApi, identity: str = "one") -> Iterator[BinderService]:
    cache = Cache()
    binder = BinderService(
        api.client(),
        cache=cache,
        frameworks={"custom-scheduler": make_framework(cache)},
        namespace="ns",
        identity=identity,
        timing=QUICK,
    )
    binder.start()
    try:
        yield binder
    finally:
        binder.stop()


def test_it_takes_the_lease_lists_and_binds() -> None:
    cluster = Cluster()

    with FakeApi(cluster) as api, service(api) as binder:
        eventually(lambda: cluster.bound)

        assert cluster.bound == {"a": "node-1"}
        assert cluster.holder == "one"
        assert binder.is_leader()
        assert binder.not_ready() == []


def test_pods_that_have_ended_are_not_asked_for() -> None:
    with FakeApi(Cluster()) as api, service(api):
        eventually(lambda: any(exchange.path == "/api/v1/pods" for exchange in api.exchanges))

    asked = [exchange.query["fieldSelector"] for exchange in api.exchanges if exchange.path == "/api/v1/pods"]
    assert set(asked) == {"status.phase!=Succeeded,status.phase!=Failed"}


def test_stopping_gives_the_lease_back_and_leaves_no_thread() -> None:
    cluster = Cluster()
    before = set(threading.enumerate())

    with FakeApi(cluster) as api:
        with service(api):
            eventually(lambda: cluster.bound)
        assert cluster.holder == ""
    assert set(threading.enumerate()) == before


def test_of_two_replicas_one_binds_and_the_other_goes_on_when_it_stops() -> None:
    cluster = Cluster()

    with FakeApi(cluster) as api, service(api, "one") as one:
        eventually(lambda: cluster.bound)
        with service(api, "two") as two:
            eventually(lambda: two.not_ready() == [])
            assert not two.is_leader()
            cluster.pods.append("b")
            one.stop()
            eventually(lambda: "b" in cluster.bound)

            assert two.is_leader()
            assert cluster.holder == "two"
            sent = [exchange.path for exchange in api.exchanges if exchange.path.endswith("/binding")]
            assert len(sent) == 2


PLUGIN = f"""
from {__name__} import Closing
from webhook.scheduling.registry import register_plugin
register_plugin("Closing", lambda args, handle: Closing())
"""
ENABLED = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{{directory: {directory}}}]
profiles:
- plugins: {{multiPoint: {{enabled: [{{name: Closing}}]}}}}
"""


class Closing:
    """Tells how many of its kind are not closed."""

    alive = 0

    def __init__(self) -> None:
        type(self).alive += 1

    def filter_node(self, _pod: object, _node: object) -> None:
        pass

    def close(self) -> None:
        type(self).alive -= 1


def test_plugins_are_closed_when_others_come_and_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.binder.service.PLUGIN_POLL_SECONDS", 0.01)
    place = tmp_path / "scheduler.yaml"
    (tmp_path / "closing.py").write_text(PLUGIN)
    place.write_text(ENABLED.format(directory=tmp_path))
    monkeypatch.setattr(Closing, "alive", 0)
    plugins, cache = Plugins(place), Cache()
    frameworks = plugins.build(cache, random.Random(0))

    with FakeApi(Cluster()) as api:
        binder = BinderService(
            api.client(),
            cache=cache,
            frameworks=frameworks,
            plugins=plugins,
            namespace="ns",
            identity="one",
            timing=QUICK,
        )
        binder.start()
        try:
            place.write_text(ENABLED.format(directory=tmp_path).replace("[{name: Closing}]", "[]"))
            eventually(lambda: Closing.alive == 0, "the plugin is closed once nothing uses it")
            place.write_text(ENABLED.format(directory=tmp_path))
            eventually(lambda: Closing.alive == 1, "another one is made")
        finally:
            binder.stop()
    assert Closing.alive == 0


def test_an_api_server_that_is_away_at_the_start_is_waited_for() -> None:
    cluster = Cluster()
    cluster.away = True

    with FakeApi(cluster) as api, service(api) as binder:
        # A kind each, and the Lease.
        eventually(lambda: sum(" can't be " in reason for reason in binder.not_ready()) == 13)
        assert binder.not_ready()[0].startswith("Lease ns/custom-scheduler can't be held: ")
        cluster.away = False
        eventually(lambda: cluster.bound)

        # A pod may be bound after the first list, before the watch that ends the trouble is there.
        eventually(lambda: binder.not_ready() == [])


def test_it_is_not_ready_before_it_has_listed() -> None:
    hold = threading.Event()

    def slow(exchange: Exchange) -> None:
        hold.wait(PATIENCE_SECONDS)
        cluster(exchange)

    cluster = Cluster()
    with FakeApi(slow) as api, service(api) as binder:
        assert binder.not_ready()[:2] == ["nodes are not listed yet", "pods are not listed yet"]
        hold.set()
        eventually(lambda: binder.not_ready() == [])


def test_it_stops_soon_while_the_api_server_says_nothing() -> None:
    with FakeApi(Exchange.hang) as api, service(api):
        api.wait_for(lambda exchanges: len(exchanges) == 13)
        begun = time.monotonic()

    assert time.monotonic() - begun < 3


def test_a_scheduling_thread_that_dies_gives_the_lease_back_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    died = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
    with FakeApi(cluster) as api, service(api) as binder:
        eventually(binder.is_leader)

        binder._loop._inbox.put(_fatal)

        assert died.wait(PATIENCE_SECONDS)
        eventually(lambda: cluster.holder == "")
        assert "thread scheduling has died" in binder.not_ready()


def test_without_a_thread_that_binds_it_is_not_ready() -> None:
    with FakeApi(Cluster()) as api, service(api) as binder:
        eventually(lambda: binder.not_ready() == [])

        binder._bindings._work.put(None)

        eventually(lambda: len(binder.not_ready()) == 1)
        assert re.fullmatch(r"thread bind-\d+ has died", binder.not_ready()[0])


def test_without_the_thread_that_follows_plugins_it_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr("webhook.binder.service.PLUGIN_POLL_SECONDS", 0.01)
    monkeypatch.setattr(BinderService, "_poll_plugins", lambda _: _fatal())

    with FakeApi(Cluster()) as api, service(api) as binder:
        eventually(lambda: binder.not_ready() == ["thread plugins has died"])


class _Fatal(BaseException):
    """What the loop doesn't contain."""


def _fatal() -> None:
    raise _Fatal
