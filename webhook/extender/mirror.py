"""The cluster as this process knows it: one informer for each kind of object, all into one cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from webhook.kube.informer import Change, Informer
from webhook.kube.meta import HasMetadata
from webhook.kube.poller import ListPoller
from webhook.kube.transport import KubeClient
from webhook.observe import node_metrics
from webhook.scheduling.cache import Cache
from webhook.scheduling.kinds import (
    KINDS,
    NO_NODE_METRICS,
    NODE_METRICS_PATH,
    NODE_METRICS_SECONDS,
    Kind,
)
from webhook.scheduling.objects import NodeMetrics

__all__ = ["Mirror"]

T = TypeVar("T", bound=HasMetadata)


class Mirror:
    """Keeps a cache true, by watches and, where a plugin asks for it, node metrics. `lock` is held while it changes, and has to be held by whoever reads it."""

    def __init__(self, client: KubeClient, cache: Cache, lock: threading.Lock) -> None:
        self._cache = cache
        self._lock = lock
        self._informers = {
            each.plural: Informer(client, each.path, each.type, self._take(each), query=each.query)
            for each in KINDS
        }
        self._node_metrics = ListPoller(
            client,
            NODE_METRICS_PATH,
            NodeMetrics,
            self._measure,
            wanted=lambda: cache.memory.in_use,
            interval=NODE_METRICS_SECONDS,
            trouble=NO_NODE_METRICS,
        )
        runs = {plural: informer.run for plural, informer in self._informers.items()}
        self._threads = [
            threading.Thread(target=run, name=name, daemon=True)
            for name, run in {**runs, "node metrics": self._node_metrics.run}.items()
        ]

    def start(self) -> None:
        """Begin to list and watch, without waiting for an answer."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all watches."""
        for informer in self._informers.values():
            informer.stop()
        self._node_metrics.stop()
        for thread in self._threads:
            thread.join()

    def not_ready(self) -> list[str]:
        """Return what is not known, or not kept true, at present; empty if all is."""
        return [
            f"{plural} can't be followed: {informer.fault}"
            if informer.fault is not None
            else f"{plural} are not listed yet"
            for plural, informer in self._informers.items()
            if informer.fault is not None or not informer.synced.is_set()
        ]

    def _measure(self, measurements: Sequence[NodeMetrics]) -> None:
        with self._lock:
            self._cache.memory.measure(measurements)
            node_metrics.AGE.set(self._cache.memory.age())

    def _take(self, kind: Kind[T]) -> Callable[[Change[T]], None]:
        def take(change: Change[T]) -> None:
            with self._lock:
                kind.take(self._cache, change.old, change.new)

        return take
