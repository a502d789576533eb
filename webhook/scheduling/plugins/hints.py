"""Hints that several plugins give on what a change means for a pod that they have rejected."""

from __future__ import annotations

from collections.abc import Callable

from webhook.scheduling.claims import claims_of
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Hint, QueueingHint
from webhook.scheduling.lone_node import lone_node
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Node, PersistentVolumeClaim, Pod

__all__ = ["after_claim_change", "queue_if", "when_node_lets_in"]


def queue_if(condition: object) -> QueueingHint:
    """Return Queue where the condition holds, otherwise Skip."""
    return QueueingHint.QUEUE if condition else QueueingHint.QUEUE_SKIP


def when_node_lets_in(feasible: Callable[[Pod, Nodes], BoolArray]) -> Hint:
    """Return the hint of a filter that looks at Node objects alone: the node lets the pod in, and did not before."""

    def hint(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        if not feasible(pod, lone_node(new))[0]:
            return QueueingHint.QUEUE_SKIP
        return queue_if(old is None or not feasible(pod, lone_node(old))[0])

    return hint


def after_claim_change(
    pod: Pod, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """Return Queue where the claim is one of the pod's."""
    return queue_if(
        new.metadata.namespace == pod.metadata.namespace
        and any(ref.claim == new.metadata.name for ref in claims_of(pod))
    )
