"""What tells pods apart that are compared with one node at a time; replicas of a workload have it in common."""

from __future__ import annotations

import msgspec

from webhook.scheduling.claims import claims_of
from webhook.scheduling.objects import Pod

__all__ = ["signature"]

_encode = msgspec.msgpack.Encoder().encode


def signature(pod: Pod) -> bytes:
    """Return a key that pods share whose own nodes are chosen by the same rules, all pods placed on others aside.

    It has what a pod asks of a node and whether it has claims; not its name and labels, nor its relations to other pods
    and the names of its volumes, which each replica may have of its own.
    """
    spec, status = pod.spec, pod.status
    affinity = spec.affinity
    return _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            spec.node_name,
            spec.node_selector,
            None if affinity is None else affinity.node_affinity,
            spec.tolerations,
            spec.host_network,
            spec.host_users,
            bool(claims_of(pod)),
            # A pod that was resized before it got its node.
            status.container_statuses,
            status.init_container_statuses,
            status.allocated_resources,
            status.resources,
            [each.reason for each in status.conditions if each.type == "PodResizePending"],
        )
    )
