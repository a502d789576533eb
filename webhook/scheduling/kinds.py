"""The kinds of objects that decisions depend on: where they are listed, and how they come into a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webhook.kube.meta import HasMetadata
from webhook.scheduling.cache import Cache
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

__all__ = ["KINDS", "NODE_METRICS_PATH", "NODE_METRICS_SECONDS", "NO_NODE_METRICS", "Kind"]

T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of object: the plural that people know, the API group's path, and the query that lists those that count.

    `put` and `drop` tell a cache of one that there is, and of one that is no more.
    """

    plural: str
    api: str
    type: type[T]
    put: Callable[[Cache, T], None]
    drop: Callable[[Cache, T], None]
    query: Sequence[tuple[str, str]] = ()

    @property
    def path(self) -> str:
        """Where all objects of this kind are listed."""
        return f"{self.api}/{self.plural}"

    def take(self, cache: Cache, old: T | None, new: T | None) -> None:
        """Tell a cache how an object has changed: it is as `new`, or was as `old` and is no more."""
        if new is not None:
            self.put(cache, new)
        elif old is not None:
            self.drop(cache, old)

    @property
    def name(self) -> str:
        """The kind as objects call it."""
        return self.type.__name__


_CORE, _APPS, _STORAGE = "/api/v1", "/apis/apps/v1", "/apis/storage.k8s.io/v1"
# Pods that have ended hold nothing; the API server keeps them for days.
_NOT_ENDED = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)


def _controller(plural: str, api: str, type_: type[Any]) -> Kind[Any]:
    return Kind(
        plural,
        api,
        type_,
        lambda cache, item: cache.workloads.set_controller(item),
        lambda cache, item: cache.workloads.remove_controller(item),
    )


def _stored(plural: str, api: str, type_: type[Any]) -> Kind[Any]:
    return Kind(
        plural,
        api,
        type_,
        lambda cache, item: cache.storage.put(item),
        lambda cache, item: cache.storage.remove(item),
    )


KINDS: tuple[Kind[Any], ...] = (
    Kind("nodes", _CORE, Node, Cache.set_node, lambda cache, item: cache.remove_node(item.name)),
    Kind("pods", _CORE, Pod, Cache.set_pod, Cache.remove_pod, _NOT_ENDED),
    Kind(
        "namespaces",
        _CORE,
        Namespace,
        lambda cache, item: cache.namespaces.set(item),
        lambda cache, item: cache.namespaces.remove(item.metadata.name),
    ),
    Kind(
        "services",
        _CORE,
        Service,
        lambda cache, item: cache.workloads.set_service(item),
        lambda cache, item: cache.workloads.remove_service(item),
    ),
    _controller("replicationcontrollers", _CORE, ReplicationController),
    _controller("replicasets", _APPS, ReplicaSet),
    _controller("statefulsets", _APPS, StatefulSet),
    _stored("persistentvolumeclaims", _CORE, PersistentVolumeClaim),
    _stored("persistentvolumes", _CORE, PersistentVolume),
    _stored("storageclasses", _STORAGE, StorageClass),
    _stored("csinodes", _STORAGE, CSINode),
    _stored("csidrivers", _STORAGE, CSIDriver),
)

# Not watched, as metrics-server serves lists alone, and read as often as it measures by its manifests.
NODE_METRICS_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
NODE_METRICS_SECONDS = 15.0
NO_NODE_METRICS = "node metrics can't be read, so nodes are ranked by requests meanwhile"
