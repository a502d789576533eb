"""What a change means for a pod that PodTopologySpread has rejected.

Source: plugins/podtopologyspread/plugin.go. Where kube-scheduler's hints miss a change that helps, ours don't: a pod
that is being deleted does not count any more, nor does a node that no longer matches the pod's node affinity.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.scheduling.events import QueueingHint
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.plugins.hints import queue_if
from webhook.scheduling.plugins.spread_constraints import Constraint, SpreadConstraints

__all__ = ["SpreadHints"]


class SpreadHints:
    """The hints, by the hard constraints of the pod."""

    def __init__(self, constraints: SpreadConstraints) -> None:
        self._constraints = constraints

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Queue where a pod that counts has come or gone, or one has begun or ceased to count."""
        known = new or old
        if known is None or known.metadata.namespace != pod.metadata.namespace:
            return QueueingHint.QUEUE_SKIP
        constraints = self._constraints.hard(pod)
        if old is not None and new is not None and old.is_terminating == new.is_terminating:
            return queue_if(
                any(
                    each.selector.matches(old.labels) != each.selector.matches(new.labels)
                    for each in constraints
                )
            )
        return queue_if(any(each.selector.matches(known.labels) for each in constraints))

    def after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        """Queue where a node with all the topology labels has come, gone or changed in what it counts by."""
        constraints = self._constraints.hard(pod)
        if old is None or new is None or _counts(old, constraints) != _counts(new, constraints):
            return queue_if(any(node is not None and _counts(node, constraints) for node in (old, new)))
        if not _counts(new, constraints):
            return QueueingHint.QUEUE_SKIP
        if old.labels != new.labels and _asks_for_nodes(pod):
            return QueueingHint.QUEUE
        keys = {each.topology_key for each in constraints}
        return queue_if(
            old.spec.taints != new.spec.taints
            or any(old.labels.get(key) != new.labels.get(key) for key in keys)
        )


def _counts(node: Node, constraints: Sequence[Constraint]) -> bool:
    return all(each.topology_key in node.labels for each in constraints)


def _asks_for_nodes(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return bool(pod.spec.node_selector) or (affinity is not None and affinity.node_affinity is not None)
