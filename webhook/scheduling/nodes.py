"""What a plugin sees of the nodes: some rows of the table, all columns of equal length."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import BoolArray, IntArray, Values
from webhook.scheduling.images import ImageState
from webhook.scheduling.objects import Node, Pod, Taint
from webhook.scheduling.placed_terms import PlacedTerm, PlacedTerms
from webhook.scheduling.pod_groups import PodGroup
from webhook.scheduling.ports import HostPort
from webhook.scheduling.table import NodeTable, Rows

__all__ = ["NodeInfo", "Nodes"]

S = TypeVar("S", bound=np.generic)


class NodeInfo:
    """One node with what is placed on it, for a plugin that looks at nodes one by one."""

    __slots__ = ("_row", "_table", "node")

    def __init__(self, table: NodeTable, row: int) -> None:
        self._table = table
        self._row = row
        # Five thousand of these are made for one pod.
        self.node: Node = table.node(row)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels."""
        return self.node.labels

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The node's taints."""
        return self.node.spec.taints

    @property
    def pods(self) -> list[Pod]:
        """The pods placed there, assumed ones too."""
        return [placed.pod for placed in self._table.pods_on(self.node.metadata.name).values()]

    @property
    def pod_count(self) -> int:
        """How many they are."""
        return len(self._table.pods_on(self.node.metadata.name))

    def allocatable(self, resource: str) -> int:
        """Return what the node offers: millicores of cpu, bytes of memory, units of others."""
        return int(self._table.amounts.allocatable(resource)[self._row])

    def requested(self, resource: str) -> int:
        """Return what the pods there hold, in the same units."""
        return int(self._table.amounts.requested(resource)[self._row])


class Nodes:
    """The nodes in question at one point of a decision. Arrays are in order of `names`; those over all nodes are read-only.

    Filters get the nodes that passed the filters before them; scores get the feasible nodes.
    """

    __slots__ = ("_length", "_rows", "_table")

    def __init__(self, table: NodeTable, rows: Rows | None = None) -> None:
        self._table = table
        self._rows = rows
        self._length = len(table) if rows is None else len(rows)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[NodeInfo]:
        return map(NodeInfo, repeat(self._table), self.rows.tolist())

    def __getitem__(self, position: int) -> NodeInfo:
        return NodeInfo(self._table, position if self._rows is None else int(self._rows[position]))

    @property
    def rows(self) -> Rows:
        """The table's row of each node, ascending."""
        return np.arange(len(self._table), dtype=np.intp) if self._rows is None else self._rows

    @property
    def names(self) -> Sequence[str]:
        """The names of the nodes."""
        return [self._table.node(int(row)).name for row in self.rows]

    @property
    def cluster_size(self) -> int:
        """The number of all nodes, also of those that are out of question."""
        return len(self._table)

    @property
    def cluster(self) -> Nodes:
        """All nodes, also those that are out of question; their order is what `pick` starts from."""
        return self if self._rows is None else Nodes(self._table)

    def pick(self, column: npt.NDArray[S]) -> npt.NDArray[S]:
        """Of a column over the cluster what belongs to these nodes."""
        return column if self._rows is None else column[self._rows]

    def narrow(self, mask: BoolArray) -> Nodes:
        """Return only the nodes where the mask is true."""
        return Nodes(self._table, self.rows[mask])

    def only(self, names: Collection[str]) -> Nodes:
        """Return only the nodes with one of these names."""
        return self.narrow(self.named(names))

    def named(self, names: Collection[str]) -> BoolArray:
        """Return where the node has one of these names."""
        mask = np.zeros(len(self._table), dtype=np.bool_)
        for name in names:
            row = self._table.row_of(name)
            if row is not None:
                mask[row] = True
        return mask if self._rows is None else mask[self._rows]

    def allocatable(self, resource: str) -> IntArray:
        """Return what the nodes offer: millicores of cpu, bytes of memory, units of others; 0 where unknown."""
        return self._own(self._table.amounts.allocatable(resource, self._rows))

    def requested(self, resource: str) -> IntArray:
        """Return what the pods on the nodes hold, in the same units."""
        return self._own(self._table.amounts.requested(resource, self._rows))

    def nonzero_requested(self, resource: str) -> IntArray:
        """Return the same, where a container without a request counts 100m of cpu and 200Mi of memory."""
        return self._own(self._table.amounts.nonzero_requested(resource, self._rows))

    def allocatable_of(self, resources: tuple[str, ...]) -> IntArray:
        """Return what the nodes offer of several resources, a line each; a copy, as those of the next two."""
        return self._table.amounts.allocatable_of(resources, self._rows)

    def requested_of(self, resources: tuple[str, ...]) -> IntArray:
        """Return what the pods on the nodes hold of them."""
        return self._table.amounts.requested_of(resources, self._rows)

    def nonzero_requested_of(self, resources: tuple[str, ...]) -> IntArray:
        """Return the same, where a container without a request counts 100m of cpu and 200Mi of memory."""
        return self._table.amounts.nonzero_requested_of(resources, self._rows)

    @property
    def pod_counts(self) -> IntArray:
        """How many pods the nodes have."""
        return self._own(self._table.amounts.pod_counts(self._rows))

    @property
    def pod_limits(self) -> IntArray:
        """How many pods the nodes may have."""
        return self._own(self._table.amounts.pod_limits(self._rows))

    @property
    def unschedulable(self) -> BoolArray:
        """Which nodes are cordoned."""
        return self._own(self._table.unschedulable(self._rows))

    @property
    def taints(self) -> Values[tuple[Taint, ...]]:
        """The taints of the nodes."""
        return self._table.taints(self._rows)

    def labels(self, key: str) -> Values[str | None]:
        """Return the values of one label, None where a node doesn't have it."""
        return self._table.labels(key, self._rows)

    def pods_matching(self, group: PodGroup) -> IntArray:
        """Return how many of the placed pods on each node are in the group."""
        return self.pick(self._table.pod_groups.counts(group))

    @property
    def placed_terms(self) -> PlacedTerms:
        """The affinity terms of all placed pods."""
        return self._table.placed_terms

    def pods_with(self, term: PlacedTerm) -> IntArray:
        """Return how many of the placed pods on each node have the term."""
        return self.pick(self._table.placed_terms.counts(term))

    def image(self, name: str) -> ImageState | None:
        """Return the size of an image and which nodes of the cluster have it; None if no node has."""
        return self._table.images.get(name)

    def has_image(self, name: str) -> BoolArray:
        """Return which nodes have an image of exactly this name."""
        return self._table.has_image(name, self._rows)

    def with_taken_ports(self, wanted: Collection[HostPort]) -> BoolArray:
        """Return which nodes have one of the wanted host ports in use."""
        return self.named(self._table.ports.clashes(wanted))

    def _own(self, column: npt.NDArray[S]) -> npt.NDArray[S]:
        """Return a column that plugins can't spoil for others: of some rows it is a copy, of all the table's own."""
        if self._rows is not None:
            return column
        # A view: the flag must not stick to the table's own array.
        view = column.view()
        view.flags.writeable = False
        return view
