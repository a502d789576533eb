"""From a change that a watch tells of to what it means for the cache and the queue."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeVar

from webhook.binder.queue import SchedulingQueue
from webhook.kube.informer import Change
from webhook.kube.meta import HasMetadata
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import Action, Resource, assigned_pod_event, node_event, object_event
from webhook.scheduling.kinds import Kind
from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)

__all__ = ["apply_node_change", "apply_other_change", "apply_pod_change"]

T = TypeVar("T", bound=HasMetadata)

_STORAGE_RESOURCES: dict[type[HasMetadata], Resource] = {
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    StorageClass: Resource.STORAGE_CLASS,
    CSINode: Resource.CSI_NODE,
    CSIDriver: Resource.CSI_DRIVER,
}


def apply_node_change(change: Change[Node], cache: Cache, queue: SchedulingQueue) -> None:
    """Take over a node's change, and wake the pods that it may help."""
    if change.new is not None:
        cache.set_node(change.new)
    elif change.old is not None:
        cache.remove_node(change.old.name)
    if (event := node_event(change.old, change.new)) is not None:
        queue.wake(event, change.old, change.new)


def apply_pod_change(
    change: Change[Pod], cache: Cache, queue: SchedulingQueue, scheduler_names: Container[str]
) -> None:
    """Take over a pod's change: pods with a node count whoever placed them, those of ours without one queue."""
    old, new = change.old, change.new
    if new is not None:
        cache.set_pod(new)
    elif old is not None:
        cache.remove_pod(old)
    if (event := assigned_pod_event(old, new)) is not None:
        # One that gets its node appears, and one that ends goes.
        queue.wake(
            event,
            None if event.action is Action.ADD else old,
            None if event.action is Action.DELETE else new,
        )
    if new is not None and _wants_a_node(new, scheduler_names):
        uid = new.metadata.uid
        if uid in queue:
            queue.update(new)
        elif not cache.is_assumed(uid):  # else bound by us, and the watch is still behind
            queue.add(new)
    elif (known := new or old) is not None:
        queue.remove(known.metadata.uid)


def apply_other_change(kind: Kind[T], change: Change[T], cache: Cache, queue: SchedulingQueue) -> None:
    """Take over the change of an object of another kind, and wake the pods that it may help.

    Those of claims, volumes and what is around them may. A namespace, a Service and a controller make room for none,
    and kube-scheduler's plugins wait for none of them either.
    """
    kind.take(cache, change.old, change.new)
    resource = _STORAGE_RESOURCES.get(kind.type)
    if resource is not None and (event := object_event(resource, change.old, change.new)) is not None:
        queue.wake(event, change.old, change.new)


def _wants_a_node(pod: Pod, scheduler_names: Container[str]) -> bool:
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name in scheduler_names
        and not pod.is_terminal
        and not pod.is_terminating
    )
