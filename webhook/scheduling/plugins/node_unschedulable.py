"""NodeUnschedulable: cordoned nodes take only pods that tolerate it."""

from __future__ import annotations

import numpy as np

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod, Taint
from webhook.scheduling.plugin import Local
from webhook.scheduling.plugins.hints import queue_if, when_node_lets_in
from webhook.scheduling.status import Code, Reason
from webhook.scheduling.tolerations import tolerates

__all__ = ["NodeUnschedulable"]

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable:
    """Reads `spec.unschedulable` of the node and the pod's tolerations."""

    local = Local.NODE
    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable"),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node that is not cordoned, newly or any more; or for the toleration."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
                when_node_lets_in(self.filter),
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION), _after_tolerations_change
            ),
        )

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where the node isn't cordoned, or everywhere for a pod that tolerates it."""
        if tolerates(pod.spec.tolerations, _CORDON):
            return np.ones(len(nodes), dtype=np.bool_)
        return ~nodes.unschedulable


def _after_tolerations_change(_pod: Pod, _old: Pod, new: Pod) -> QueueingHint:
    return queue_if(tolerates(new.spec.tolerations, _CORDON))
