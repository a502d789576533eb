"""A Node object looked at by itself, as plugins look at the nodes of the cluster."""

from __future__ import annotations

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Node
from webhook.scheduling.per_object import per_object
from webhook.scheduling.table import NodeTable

__all__ = ["lone_node"]


def _alone(node: Node) -> Nodes:
    table = NodeTable()
    table.put(node)
    return Nodes(table)


# One event, with the node before and after it, is judged for all pods that wait.
_remembered = per_object(_alone, most=8)


def lone_node(node: Node) -> Nodes:
    """Return the node as the only one of a cluster, with no pod on it; raises InvalidQuantity."""
    return _remembered(node)
