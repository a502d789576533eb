"""NodePorts: the host ports that a pod asks for are free on its node."""

from __future__ import annotations

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local
from webhook.scheduling.plugins.hints import queue_if
from webhook.scheduling.ports import HostPorts, host_ports
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["NodePorts"]


class NodePorts:
    """Compares with the host ports of all pods on a node."""

    local = Local.NODE_AND_PODS
    reasons = (Reason(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports"),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a pod to go that has one of the ports, or for a node to appear."""
        return (
            ClusterEventWithHint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), _after_pod_deletion),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD)),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod without host ports."""
        return SUCCESS if host_ports(pod) else SKIP

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where none of the pod's host ports is taken."""
        return ~nodes.with_taken_ports(host_ports(pod))


def _after_pod_deletion(pod: Pod, old: Pod, _new: None) -> QueueingHint:
    given_back = HostPorts()
    given_back.take(old.spec.node_name, host_ports(old))
    return queue_if(given_back.clashes(host_ports(pod)))
