"""Changes in the cluster that may make a rejected pod schedulable, named as kube-scheduler names them.

A plugin registers the events that can lift its rejections; the queue wakes a pod when one of them
happens. Source: k8s.io/kube-scheduler/framework/types.go.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.resources import placed_requests

__all__ = [
    "Action",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Happening",
    "Hint",
    "QueueingHint",
    "Resource",
    "assigned_pod_event",
    "node_event",
    "object_event",
    "target_pod_event",
]


class Resource(enum.Enum):
    """The kind of object that changed."""

    NODE = "Node"
    ASSIGNED_POD = "AssignedPod"
    # The waiting pod itself.
    TARGET_POD = "TargetPod"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    PERSISTENT_VOLUME = "PersistentVolume"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"


class Action(enum.Flag):
    """What happened to it."""

    ADD = enum.auto()
    DELETE = enum.auto()
    # Of whatever in the object, where no finer action is told apart.
    UPDATE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Actions on one kind of object: those that happened, or those that a plugin waits for."""

    resource: Resource
    action: Action

    def matches(self, happened: ClusterEvent) -> bool:
        """Tell whether a plugin that registered this event is concerned by `happened`."""
        return self.resource is happened.resource and bool(self.action & happened.action)


class QueueingHint(enum.Enum):
    """Whether a change may help a pod that the plugin rejected."""

    QUEUE_SKIP = "QueueSkip"
    QUEUE = "Queue"


# Called with the rejected pod, and the object before and after the change; None where it was not, or is no more.
Hint: TypeAlias = Callable[[Pod, Any, Any], QueueingHint]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """An event that a plugin waits for, and what tells whether it helps this pod; without a hint it is taken to help all."""

    event: ClusterEvent
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Happening:
    """An event that has happened, with the object before and after it."""

    event: ClusterEvent
    old: object | None = None
    new: object | None = None


def node_event(old: Node | None, new: Node | None) -> ClusterEvent | None:
    """Return the event behind a node's change, or None when nothing that scheduling reads has changed."""
    if old is None and new is None:
        return None
    if old is None or new is None:
        return ClusterEvent(Resource.NODE, Action.ADD if old is None else Action.DELETE)
    action = Action(0)
    if old.status.allocatable != new.status.allocatable:
        action |= Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        action |= Action.UPDATE_NODE_LABEL
    if old.spec != new.spec:
        action |= Action.UPDATE_NODE_TAINT
    if old.status.conditions != new.status.conditions:
        action |= Action.UPDATE_NODE_CONDITION
    if old.metadata.annotations != new.metadata.annotations:
        action |= Action.UPDATE_NODE_ANNOTATION
    if old.status.declared_features != new.status.declared_features:
        action |= Action.UPDATE_NODE_DECLARED_FEATURE
    return ClusterEvent(Resource.NODE, action) if action else None


def object_event(resource: Resource, old: object | None, new: object | None) -> ClusterEvent | None:
    """Return the event behind the change of an object in which no finer actions are told apart, None if it is the same."""
    if old == new:
        return None
    if old is None or new is None:
        return ClusterEvent(resource, Action.ADD if old is None else Action.DELETE)
    return ClusterEvent(resource, Action.UPDATE)


def assigned_pod_event(old: Pod | None, new: Pod | None) -> ClusterEvent | None:
    """Return the event behind the change of a pod that has (or had) a node.

    A pod that ends counts as deleted, since it gives back what it held; one that gets its node counts
    as added. None when nothing changed that another pod could be waiting for.
    """
    before = old if old is not None and _holds_node(old) else None
    after = new if new is not None and _holds_node(new) else None
    if before is None and after is None:
        return None
    if before is None or after is None:
        return ClusterEvent(Resource.ASSIGNED_POD, Action.ADD if before is None else Action.DELETE)
    action = Action(0)
    if before.is_terminating != after.is_terminating:
        # It does not count in the spread of others any more.
        action |= Action.UPDATE
    if before.labels != after.labels:
        action |= Action.UPDATE_POD_LABEL
    if _scaled_down(before, after):
        action |= Action.UPDATE_POD_SCALE_DOWN
    return ClusterEvent(Resource.ASSIGNED_POD, action) if action else None


def target_pod_event(old: Pod, new: Pod) -> ClusterEvent | None:
    """Return the event behind the change of a pod that waits for a node; None if no more than its status has changed."""
    if _asks_for(old) == _asks_for(new):
        return None
    action = Action(0)
    if old.labels != new.labels:
        action |= Action.UPDATE_POD_LABEL
    if old.spec.tolerations != new.spec.tolerations:
        action |= Action.UPDATE_POD_TOLERATION
    if _scaled_down(old, new):
        action |= Action.UPDATE_POD_SCALE_DOWN
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        action |= Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    return ClusterEvent(Resource.TARGET_POD, action or Action.UPDATE)


def _asks_for(pod: Pod) -> tuple[object, ...]:
    return (pod.spec, pod.metadata.labels, pod.metadata.annotations)


def _holds_node(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.is_terminal


def _scaled_down(old: Pod, new: Pod) -> bool:
    now = placed_requests(new).amounts
    return any(now.get(name, 0) < amount for name, amount in placed_requests(old).amounts.items())
