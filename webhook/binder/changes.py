"""From a change that a watch tells of to what it means for the cache and the queue."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeAlias, TypeVar

from webhook.binder.queue import SchedulingQueue
from webhook.kube.informer import Change
from webhook.kube.meta import HasMetadata
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import Action, Resource, assigned_pod_event, node_event, object_event
from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Service,
    StorageClass,
)
from webhook.scheduling.storage import StorageObject
from webhook.scheduling.workloads import Controller

__all__ = [
    "Apply",
    "apply_controller_change",
    "apply_namespace_change",
    "apply_node_change",
    "apply_pod_change",
    "apply_service_change",
    "apply_storage_change",
]

T = TypeVar("T", bound=HasMetadata)

# Takes over the change of one kind of object, and wakes the pods that it may help.
Apply: TypeAlias = Callable[[Change[T], Cache, SchedulingQueue], None]

_STORAGE_RESOURCES: dict[type[StorageObject], Resource] = {
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


def apply_namespace_change(change: Change[Namespace], cache: Cache, _queue: SchedulingQueue) -> None:
    """Take over a namespace's change. It wakes no pod: kube-scheduler's plugins wait for none either."""
    if change.new is not None:
        cache.namespaces.set(change.new)
    elif change.old is not None:
        cache.namespaces.remove(change.old.metadata.name)


def apply_service_change(change: Change[Service], cache: Cache, _queue: SchedulingQueue) -> None:
    """Take over a Service's change, which says which pods belong together; it makes room for none."""
    if change.new is not None:
        cache.workloads.set_service(change.new)
    elif change.old is not None:
        cache.workloads.remove_service(change.old)


def apply_controller_change(change: Change[Controller], cache: Cache, _queue: SchedulingQueue) -> None:
    """Take over a controller's change, in the same way."""
    if change.new is not None:
        cache.workloads.set_controller(change.new)
    elif change.old is not None:
        cache.workloads.remove_controller(change.old)


def apply_storage_change(change: Change[StorageObject], cache: Cache, queue: SchedulingQueue) -> None:
    """Take over the change of a claim, a volume or what is around them, and wake the pods that it may help."""
    known = change.new or change.old
    if known is None:
        return
    if change.new is not None:
        cache.storage.put(change.new)
    else:
        cache.storage.remove(known)
    if (event := object_event(_STORAGE_RESOURCES[type(known)], change.old, change.new)) is not None:
        queue.wake(event, change.old, change.new)


def _wants_a_node(pod: Pod, scheduler_names: Container[str]) -> bool:
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name in scheduler_names
        and not pod.is_terminal
        and not pod.is_terminating
    )
