"""NodePorts: the host ports that a pod asks for are free on its node."""

from __future__ import annotations

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local
from webhook.scheduling.ports import host_ports
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["NodePorts"]


class NodePorts:
    """Compares with the host ports of all pods on a node."""

    local = Local.NODE_AND_PODS
    reasons = (Reason(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports"),)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """A node appears or a pod goes."""
        return (ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), ClusterEvent(Resource.NODE, Action.ADD))

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod without host ports."""
        return SUCCESS if host_ports(pod) else SKIP

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Where none of them is taken."""
        return ~nodes.with_taken_ports(host_ports(pod))
