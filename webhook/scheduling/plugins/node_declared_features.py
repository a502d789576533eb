"""NodeDeclaredFeatures: the node's kubelet says that it can do what the pod needs of a new Kubernetes feature.

Source: k8s.io/component-helpers/nodedeclaredfeatures, version 1.37.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local
from webhook.scheduling.plugins.hints import queue_if, when_node_lets_in
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["NodeDeclaredFeatures"]


class NodeDeclaredFeatures:
    """Compares with `status.declaredFeatures`."""

    local = Local.NODE
    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's required features"),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node that declares what is needed, newly or by then; or for a pod that needs something else."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE),
                when_node_lets_in(self.filter),
            ),
            ClusterEventWithHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE), _after_pod_change),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod that needs none of them, as almost all."""
        return SUCCESS if any(_required(pod)) else SKIP

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where all that are needed are declared."""
        required = frozenset(_required(pod))
        answers = (required.issubset(info.node.status.declared_features) for info in nodes)
        return np.fromiter(answers, dtype=np.bool_, count=len(nodes))


def _after_pod_change(_pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return queue_if(set(_required(old)) != set(_required(new)))


def _required(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    if spec.host_network and spec.host_users is False:
        yield "UserNamespacesHostNetworkSupport"
    own = (*pod.containers, *spec.init_containers)
    if any(rule.action == "RestartAllContainers" for each in own for rule in each.restart_policy_rules):
        yield "RestartAllContainersOnContainerExits"
    if any(mount.bind_mount_options for each in own for mount in each.volume_mounts):
        yield "VolumeBindMountOptions"
