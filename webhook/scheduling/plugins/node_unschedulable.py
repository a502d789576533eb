"""NodeUnschedulable: cordoned nodes take only pods that tolerate it."""

from __future__ import annotations

import numpy as np

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod, Taint
from webhook.scheduling.plugin import Local
from webhook.scheduling.status import Code, Reason
from webhook.scheduling.tolerations import tolerates

__all__ = ["NodeUnschedulable"]

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable:
    """Reads `spec.unschedulable` of the node and the pod's tolerations."""

    local = Local.NODE
    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable"),)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """A node appears or is uncordoned."""
        return (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),)

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Where the node isn't cordoned, or everywhere for a pod that tolerates it."""
        if tolerates(pod.spec.tolerations, _CORDON):
            return np.ones(len(nodes), dtype=np.bool_)
        return ~nodes.unschedulable
