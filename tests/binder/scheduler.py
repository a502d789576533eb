"""A scheduling loop with everything real but the cluster: the test plays the watches and scripts the answers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi, Script
from webhook.binder.binding import BindPool, BindResult
from webhook.binder.condition import ConditionWriter
from webhook.binder.loop import SchedulingLoop
from webhook.binder.reporter import Reporter
from webhook.binder.takeover import Takeover
from webhook.kube.backoff import Backoff
from webhook.kube.events import EventRecorder
from webhook.kube.informer import Change
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.made import Made
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.testing import make_framework, make_pod


def pod(name: str, *, uid: str = "", node: str = "", priority: int = 0, **options: Any) -> Pod:
    """A pod of ours."""
    spec = {"schedulerName": "custom-scheduler", "priority": priority, **options.pop("spec", {})}
    metadata = {"uid": uid or f"uid-of-{name}", **options.pop("metadata", {})}
    return make_pod(name, node=node, spec=spec, metadata=metadata, **options)


def bound_to(item: Pod, node: str) -> Pod:
    """The same pod as the watch shows it after its binding."""
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, node_name=node))


def created(exchange: Exchange) -> None:
    exchange.reply(201, {"kind": "Status", "status": "Success"})


def framework_sorted_by(plugin: object, cache: Cache) -> Framework:
    """The default profile, whose queue this plugin sorts, under the name of its class."""
    registry, name = load_plugins(), type(plugin).__name__
    registry.register(name, lambda _args, _handle: plugin)
    instead = PluginSetConfig(enabled=(PluginRef(name=name),), disabled=(PluginRef(name="PrioritySort"),))
    profile = Profile(plugins=PluginsConfig(queue_sort=instead))
    return build_framework(profile, registry, cache, random.Random(0))


class _Listing:
    """An informer that lists at once."""

    def __init__(self) -> None:
        self.synced = threading.Event()
        self.relisted: Callable[[_Listing], None] = lambda _listing: None

    def relist(self) -> None:
        self.synced.set()
        self.relisted(self)


class Scheduler:
    """The loop, in its thread. `bind` answers the requests for bindings."""

    def __init__(self, api: FakeApi, **plugins: object) -> None:
        self.api = api
        self.now = 1000.0
        self.is_leader = True
        self.cache = Cache()
        self.suspected: list[tuple[str, str]] = []
        self.released: list[Made] = []
        self.recorder = EventRecorder(api.client(), instance="test")
        self.conditions = ConditionWriter(api.client())
        self._results = threading.Semaphore(0)
        self.bindings = BindPool(
            api.client(),
            report=self._report,
            may_bind=lambda: self.is_leader,
            backoff=lambda: Backoff(first=0.001, longest=0.01),
        )
        listing = _Listing()
        self.loop = SchedulingLoop(
            cache=self.cache,
            frameworks={"custom-scheduler": make_framework(self.cache, **plugins)},
            binder=self.bindings,
            reporter=Reporter(self.recorder, self.conditions, lambda: self.now),
            takeover=Takeover([listing], lambda: self.now),
            is_leader=lambda: self.is_leader,
            suspect=lambda plugin, why: self.suspected.append((plugin, why)),
            release=self.released.extend,
            clock=lambda: self.now,
        )
        listing.relisted = self.loop.listed
        self._thread = threading.Thread(target=self.loop.run, daemon=True)

    def start(self) -> None:
        self.recorder.start()
        self.conditions.start()
        self.bindings.start()
        self._thread.start()

    def stop(self) -> None:
        self.loop.pause()
        self.bindings.close(PATIENCE_SECONDS)
        self.loop.stop()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        self.conditions.close()
        self.recorder.close(PATIENCE_SECONDS)

    def _report(self, result: BindResult) -> None:
        self.loop.bound(result)
        self._results.release()

    def expect_result(self) -> None:
        """Wait until the loop has taken in how one more binding ended."""
        assert self._results.acquire(timeout=PATIENCE_SECONDS)
        self.settle()

    def add(self, *items: Pod | Node) -> None:
        for item in items:
            self.change(None, item)

    def delete(self, item: Pod | Node) -> None:
        self.change(item, None)

    def change(self, old: Pod | Node | None, new: Pod | Node | None) -> None:
        if isinstance(old or new, Pod):
            self.loop.pod_changed(Change(old=old, new=new))  # type: ignore[arg-type]  # both are of one kind
        else:
            self.loop.node_changed(Change(old=old, new=new))  # type: ignore[arg-type]  # both are of one kind

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.settle()

    def settle(self) -> None:
        """Wait until the loop has taken in what it was told and decided what it could."""
        for _ in range(2):
            seen = threading.Event()
            self.loop._inbox.put(seen.set)
            assert seen.wait(PATIENCE_SECONDS)

    def bindings_sent(self) -> list[str]:
        """The binding requests so far, as `pod on node`."""
        return [
            f"{exchange.json['metadata']['name']} on {exchange.json['target']['name']}"
            for exchange in self.api.exchanges
            if exchange.path.endswith("/binding")
        ]

    def expect_bindings(self, *bindings: str) -> None:
        """Wait for as many binding requests, and compare."""
        self.api.wait_for(lambda _: len(self.bindings_sent()) >= len(bindings))
        assert self.bindings_sent() == list(bindings)

    def events(self) -> list[dict[str, Any]]:
        return [exchange.json for exchange in self.api.exchanges if exchange.path.endswith("/events")]

    def expect_event(self, reason: str, name: str) -> dict[str, Any]:
        """Wait for an event of that reason about that pod."""

        def matching() -> list[dict[str, Any]]:
            return [
                each
                for each in self.events()
                if (each["reason"], each["regarding"]["name"]) == (reason, name)
            ]

        self.api.wait_for(lambda _: bool(matching()))
        return matching()[0]

    def expect_condition(self, name: str) -> dict[str, Any]:
        """Wait for a condition to be written on that pod."""

        def matching() -> list[Exchange]:
            return [each for each in self.api.exchanges if each.path.endswith(f"/pods/{name}/status")]

        self.api.wait_for(lambda _: bool(matching()))
        condition: dict[str, Any] = matching()[-1].json["status"]["conditions"][0]
        return condition


@contextmanager
def scheduling(bind: Script = created, *, leading: bool = True, **plugins: object) -> Iterator[Scheduler]:
    """A running scheduler that leads."""

    def script(exchange: Exchange) -> None:
        if exchange.path.endswith("/binding"):
            bind(exchange)
        else:
            exchange.reply(200, {})

    with FakeApi(script) as api:
        scheduler = Scheduler(api, **plugins)
        scheduler.start()
        if leading:
            scheduler.loop.lead(old_leader_may_act=False)
            scheduler.settle()
        try:
            yield scheduler
        finally:
            scheduler.stop()
