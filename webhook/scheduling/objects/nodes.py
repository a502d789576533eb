"""Nodes, with what they offer and what keeps pods off them."""

from __future__ import annotations

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.base import ApiObject, ResourceList

__all__ = ["ContainerImage", "Node", "NodeCondition", "NodeSpec", "NodeStatus", "Taint"]


class Taint(ApiObject, frozen=True, kw_only=True):
    """What keeps pods off a node. Times are left out, so equal taints compare equal."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(ApiObject, frozen=True, kw_only=True):
    """What an admin set on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(ApiObject, frozen=True, kw_only=True):
    """An image that a node has, under all its names."""

    names: tuple[str, ...] | None = None
    size_bytes: int = 0


class NodeCondition(ApiObject, frozen=True, kw_only=True):
    """A condition of a node."""

    type: str
    status: str = ""


class NodeStatus(ApiObject, frozen=True, kw_only=True):
    """What a node offers."""

    allocatable: ResourceList = msgspec.field(default_factory=dict)
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(ApiObject, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels, empty where it has none."""
        return self.metadata.labels or {}
