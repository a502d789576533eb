"""The nodes and what is placed on them, as NumPy columns.

Row numbers are dense: removing a node moves the last row into its place, so every column is one slice
and no plugin ever meets a dead row. Pods on a node that isn't known (deleted, or not seen yet) are kept
by its name and count again as soon as the node is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

from webhook.scheduling.amounts import Amounts
from webhook.scheduling.changed_rows import ChangedRows
from webhook.scheduling.claims import ClaimsInUse
from webhook.scheduling.columns import BoolArray, ColumnCache, InternedColumn, Values
from webhook.scheduling.images import Images
from webhook.scheduling.objects import Node, Pod, Taint
from webhook.scheduling.placed_terms import PlacedTerms
from webhook.scheduling.pod_groups import PodGroups
from webhook.scheduling.ports import HostPort, HostPorts, host_ports
from webhook.scheduling.quantity import ceil_units, parse_nanos
from webhook.scheduling.resources import PODS, PlacedRequests, amounts, placed_requests

__all__ = ["NodeTable", "PlacedPod", "Rows"]

Rows = npt.NDArray[np.intp]

_FIRST_ROWS = 64
_LARGEST_TEMPORARY = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod on a node, with what it holds there."""

    pod: Pod
    node_name: str
    requests: PlacedRequests
    ports: tuple[HostPort, ...]

    @classmethod
    def of(cls, pod: Pod, node_name: str) -> PlacedPod:
        """Return what the pod holds on that node, worked out once."""
        return cls(pod, node_name, placed_requests(pod), host_ports(pod))


class NodeTable:
    """Columns over all nodes, in row order. One thread owns it.

    The methods that take `rows` answer for these rows, or for all of them on None.
    """

    def __init__(self) -> None:
        _keep_freed_memory()
        self.ports = HostPorts()
        self.images = Images()
        self.amounts = Amounts()
        # Of the Node objects; and of these and the pods placed there.
        self.node_changes = ChangedRows()
        self.changes = ChangedRows()
        self._row_of: dict[str, int] = {}
        self.claims = ClaimsInUse(self._row_of.get)
        self.pod_groups = PodGroups(self._row_of.get)
        self.placed_terms = PlacedTerms(self._row_of.get)
        self._nodes: list[Node] = []
        self._pods: dict[str, dict[str, PlacedPod]] = {}
        self._unschedulable = np.zeros(_FIRST_ROWS, dtype=np.bool_)
        self._taints: InternedColumn[tuple[Taint, ...]] = InternedColumn()
        self._labels: ColumnCache[str, str | None] = ColumnCache()
        self._image_presence: ColumnCache[str, bool] = ColumnCache()

    def __len__(self) -> int:
        return len(self._nodes)

    def row_of(self, name: str) -> int | None:
        """Return the row of a node until the next removal, or None for a node that isn't known."""
        return self._row_of.get(name)

    def rows_of(self, names: Collection[str]) -> Rows:
        """Return the same for many, and -1 for a name that no node has."""
        return np.fromiter(map(self._row_of.get, names, repeat(-1)), dtype=np.intp, count=len(names))

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes in order of rows."""
        return iter(self._nodes)

    def node(self, row: int) -> Node:
        """Return the node in a row."""
        return self._nodes[row]

    def pods_on(self, name: str) -> Mapping[str, PlacedPod]:
        """Return the pods placed on a node by uid, even where the node isn't known."""
        return self._pods.get(name, {})

    def put(self, node: Node) -> None:
        """Add a node, or replace what is known of it; raises InvalidQuantity before anything is changed."""
        offered = _offered(node)
        row = self._row_of.get(node.name)
        if row is None:
            row = self._append(node)
        else:
            self._replace(row, node)
        self.amounts.offer(row, offered)
        self.node_changes.add(row)
        self.changes.add(row)
        self._unschedulable[row] = node.spec.unschedulable

    def remove(self, name: str) -> None:
        """Drop a node; its pods stay on record. Does nothing if it isn't known."""
        row = self._row_of.pop(name, None)
        if row is None:
            return
        self.images.remove(self._nodes[row])
        last = len(self._nodes) - 1
        self.amounts.swap_remove(row)
        self.node_changes.clear()
        self.changes.clear()
        self.pod_groups.node_removed(row)
        self.placed_terms.node_removed(row)
        self._unschedulable[row] = self._unschedulable[last]
        self._taints.swap_remove(row)
        for labels in self._labels.values():
            labels.swap_remove(row)
        for presence in self._image_presence.values():
            presence.swap_remove(row)
        moved = self._nodes.pop()
        if row != last:
            self._nodes[row] = moved
            self._row_of[moved.name] = row

    def place(self, placed: PlacedPod) -> None:
        """Count a pod on its node."""
        self._pods.setdefault(placed.node_name, {})[placed.pod.metadata.uid] = placed
        self.ports.take(placed.node_name, placed.ports)
        self.claims.take(placed.pod, placed.node_name)
        self.pod_groups.place(placed.pod, placed.node_name)
        self.placed_terms.place(placed.pod, placed.node_name)
        row = self._row_of.get(placed.node_name)
        if row is not None:
            self.amounts.count(row, placed.requests, 1)
            self.changes.add(row)

    def release(self, placed: PlacedPod) -> None:
        """Take back what `place` counted."""
        pods = self._pods[placed.node_name]
        del pods[placed.pod.metadata.uid]
        if not pods:
            del self._pods[placed.node_name]
        self.ports.give_back(placed.node_name, placed.ports)
        self.claims.give_back(placed.pod, placed.node_name)
        self.pod_groups.release(placed.pod, placed.node_name)
        self.placed_terms.release(placed.pod, placed.node_name)
        row = self._row_of.get(placed.node_name)
        if row is not None:
            self.amounts.count(row, placed.requests, -1)
            self.changes.add(row)

    def unschedulable(self, rows: Rows | None = None) -> BoolArray:
        """Return which nodes are cordoned."""
        column = self._unschedulable[: len(self._nodes)]
        return column if rows is None else column[rows]

    def taints(self, rows: Rows | None = None) -> Values[tuple[Taint, ...]]:
        """Return the taints of the nodes."""
        return self._taints.values(rows)

    def labels(self, key: str, rows: Rows | None = None) -> Values[str | None]:
        """Return the values of one label, None where a node doesn't have it."""
        column = self._labels.get(key, lambda: (node.labels.get(key) for node in self._nodes))
        return column.values(rows)

    def has_image(self, name: str, rows: Rows | None = None) -> BoolArray:
        """Return which nodes have an image of exactly this name."""
        state = self.images.get(name)
        if state is None:
            return np.zeros(len(self._nodes) if rows is None else len(rows), dtype=np.bool_)
        column = self._image_presence.get(
            name, lambda: (node.name in state.node_names for node in self._nodes)
        )
        return column.values(rows).equal(True)  # noqa: FBT003 - the value looked for

    def _append(self, node: Node) -> int:
        row = len(self._nodes)
        if row == len(self._unschedulable):
            self._unschedulable = np.concatenate([self._unschedulable, np.zeros_like(self._unschedulable)])
        self._nodes.append(node)
        self._row_of[node.name] = row
        self.images.add(node)
        self._taints.append(node.spec.taints)
        for key, labels in self._labels.items():
            labels.append(node.labels.get(key))
        names = _image_names(node)
        for name, presence in self._image_presence.items():
            presence.append(name in names)
        self.amounts.append_row()
        self.node_changes.clear()
        self.changes.clear()
        there = self._pods.get(node.name, {}).values()
        for placed in there:
            self.amounts.count(row, placed.requests, 1)
        pods = [placed.pod for placed in there]
        self.pod_groups.node_added(pods)
        self.placed_terms.node_added(pods)
        return row

    def _replace(self, row: int, node: Node) -> None:
        old, self._nodes[row] = self._nodes[row], node
        if old.spec.taints != node.spec.taints:
            self._taints.set(row, node.spec.taints)
        if old.labels != node.labels:
            for key, labels in self._labels.items():
                labels.set(row, node.labels.get(key))
        if old.status.images != node.status.images:
            self.images.remove(old)
            self.images.add(node)
            names = _image_names(node)
            for name, presence in self._image_presence.items():
                presence.set(row, name in names)


def _offered(node: Node) -> dict[str, int]:
    nanos = {name: parse_nanos(value) for name, value in node.status.allocatable.items()}
    return {**amounts(nanos), PODS: ceil_units(nanos.get(PODS, 0))}


def _keep_freed_memory() -> None:
    """Have glibc keep the memory of the arrays that every decision makes and drops.

    It raises its thresholds for giving memory back to the size of a mapped block that is freed
    (mallopt(3), M_MMAP_THRESHOLD). Below them, a decision over 15,000 nodes spends half its time in page
    faults. The block is never touched, so it costs address space alone; other allocators don't mind.
    """
    np.empty(_LARGEST_TEMPORARY, dtype=np.uint8)


def _image_names(node: Node) -> set[str]:
    return {name for image in node.status.images for name in image.names or ()}
