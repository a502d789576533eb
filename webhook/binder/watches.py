"""All that the scheduler follows on the API server, a thread for each kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webhook.binder.changes import (
    Apply,
    apply_controller_change,
    apply_namespace_change,
    apply_service_change,
    apply_storage_change,
)
from webhook.binder.loop import SchedulingLoop
from webhook.binder.takeover import Listing
from webhook.kube.informer import Change, Informer
from webhook.kube.meta import HasMetadata
from webhook.kube.transport import KubeClient, Query
from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
)

__all__ = ["Watches"]

T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class _Followed(Generic[T]):
    """A kind of object: the plural that people know, where it is listed, and who in the loop hears of changes."""

    plural: str
    path: str
    kind: type[T]
    tell: Callable[[SchedulingLoop, Change[T]], None]
    query: Query = ()


def _other(plural: str, api: str, kind: type[T], apply: Apply[T]) -> _Followed[T]:
    def tell(loop: SchedulingLoop, change: Change[T]) -> None:
        loop.other_changed(apply, change)

    return _Followed(plural, f"{api}/{plural}", kind, tell)


# Pods that have ended hold nothing; the API server keeps them for days.
_NOT_ENDED = [("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed")]
_CORE, _APPS, _STORAGE = "/api/v1", "/apis/apps/v1", "/apis/storage.k8s.io/v1"

_FOLLOWED: tuple[_Followed[Any], ...] = (
    _Followed("nodes", f"{_CORE}/nodes", Node, SchedulingLoop.node_changed),
    _Followed("pods", f"{_CORE}/pods", Pod, SchedulingLoop.pod_changed, _NOT_ENDED),
    _other("namespaces", _CORE, Namespace, apply_namespace_change),
    _other("services", _CORE, Service, apply_service_change),
    _other("replicationcontrollers", _CORE, ReplicationController, apply_controller_change),
    _other("replicasets", _APPS, ReplicaSet, apply_controller_change),
    _other("statefulsets", _APPS, StatefulSet, apply_controller_change),
    _other("persistentvolumeclaims", _CORE, PersistentVolumeClaim, apply_storage_change),
    _other("persistentvolumes", _CORE, PersistentVolume, apply_storage_change),
    _other("storageclasses", _STORAGE, StorageClass, apply_storage_change),
    _other("csinodes", _STORAGE, CSINode, apply_storage_change),
    _other("csidrivers", _STORAGE, CSIDriver, apply_storage_change),
)


class Watches:
    """An informer for each kind. `loop` gives the loop that hears of changes; it is asked for only after `start`."""

    def __init__(self, client: KubeClient, loop: Callable[[], SchedulingLoop]) -> None:
        self._loop = loop
        self._informers = {each.plural: self._informer(client, each) for each in _FOLLOWED}
        self._unlisted = set(self._informers)
        self._threads = {
            plural: threading.Thread(target=informer.run, name=plural, daemon=True)
            for plural, informer in self._informers.items()
        }

    @property
    def listings(self) -> Sequence[Listing]:
        """All of them, for a new leader to read anew."""
        return list(self._informers.values())

    def start(self) -> None:
        """Begin to list and watch."""
        for thread in self._threads.values():
            thread.start()

    def stop(self) -> None:
        """End all watches."""
        for informer in self._informers.values():
            informer.stop()
        for thread in self._threads.values():
            thread.join()

    def not_ready(self) -> list[str]:
        """Return what is not known, or not kept true, at present; empty if all is."""
        reasons = []
        for plural, informer in self._informers.items():
            if not self._threads[plural].is_alive():
                reasons.append(f"thread {plural} has died")
            elif informer.fault is not None:
                reasons.append(f"{plural} can't be followed: {informer.fault}")
            elif plural in self._unlisted:
                reasons.append(f"{plural} are not listed yet")
        return reasons

    def _informer(self, client: KubeClient, followed: _Followed[T]) -> Informer[T]:
        def listed() -> None:
            self._unlisted.discard(followed.plural)
            self._loop().listed(informer)

        informer: Informer[T] = Informer(
            client,
            followed.path,
            followed.kind,
            lambda change: followed.tell(self._loop(), change),
            query=followed.query,
            on_synced=listed,
        )
        return informer
