"""From a change that a watch tells of to what it means for the cache and the queue."""

from __future__ import annotations

from collections.abc import Container

from webhook.binder.queue import SchedulingQueue
from webhook.kube.informer import Change
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import assigned_pod_event, node_event
from webhook.scheduling.objects import Node, Pod

__all__ = ["apply_node_change", "apply_pod_change"]


def apply_node_change(change: Change[Node], cache: Cache, queue: SchedulingQueue) -> None:
    """Take over a node's change, and wake the pods that it may help."""
    if change.new is not None:
        cache.set_node(change.new)
    elif change.old is not None:
        cache.remove_node(change.old.name)
    if (event := node_event(change.old, change.new)) is not None:
        queue.wake(event)


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
        queue.wake(event)
    if new is not None and _wants_a_node(new, scheduler_names):
        uid = new.metadata.uid
        if uid in queue:
            queue.update(new)
        elif not cache.is_assumed(uid):  # else bound by us, and the watch is still behind
            queue.add(new)
    elif (known := new or old) is not None:
        queue.remove(known.metadata.uid)


def _wants_a_node(pod: Pod, scheduler_names: Container[str]) -> bool:
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name in scheduler_names
        and not pod.is_terminal
        and not pod.is_terminating
    )
