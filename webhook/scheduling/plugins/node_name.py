"""NodeName: a pod that names its node goes there or nowhere."""

from __future__ import annotations

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["NodeName"]


class NodeName:
    """Compares `spec.nodeName`; only a pod that is decided on outside of the queue has one."""

    local = Local.NODE
    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match the requested node name"),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node to appear."""
        return (ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD)),)

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod that names none."""
        return SUCCESS if pod.spec.node_name else SKIP

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where the name is the requested one."""
        return nodes.named({pod.spec.node_name})
