"""What nodes offer and pods hold, resource by resource, as columns of the node table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import IntArray
from webhook.scheduling.resources import CPU, MEMORY, PODS, PlacedRequests

__all__ = ["Amounts"]

_FIRST_ROWS = 64
_FIRST_RESOURCES = 8
# The first row of each grid stays zero, for resources that nobody has.
_NOBODYS = 0
_MOST_GROUPS = 256

_Rows = npt.NDArray[np.intp]


class Amounts:
    """Whole numbers per resource and row: millicores of cpu, units of all else. Rows are dense, as in the table.

    The methods that take `rows` answer for these rows, or for all of them on None; a resource that nobody has is 0.
    Those that end in `_of` answer for several resources, each in a line of its own, with a copy.
    """

    def __init__(self) -> None:
        self._length = 0
        self._index: dict[str, int] = {}
        # By group of resources, as an array that picks its lines from a grid.
        self._groups: dict[tuple[str, ...], _Rows] = {}
        self._allocatable = np.zeros((_FIRST_RESOURCES, _FIRST_ROWS), dtype=np.int64)
        self._requested = np.zeros((_FIRST_RESOURCES, _FIRST_ROWS), dtype=np.int64)
        # With defaults for containers that request no cpu or memory.
        self._nonzero = np.zeros((_FIRST_RESOURCES, _FIRST_ROWS), dtype=np.int64)
        # pods there, pods allowed.
        self._pods = np.zeros((2, _FIRST_ROWS), dtype=np.int64)

    def append_row(self) -> None:
        """Add a row of zeros."""
        if self._length == self._allocatable.shape[1]:
            for name in ("_allocatable", "_requested", "_nonzero", "_pods"):
                grid: IntArray = getattr(self, name)
                setattr(self, name, np.concatenate([grid, np.zeros_like(grid)], axis=1))
        self._length += 1

    def swap_remove(self, row: int) -> None:
        """Drop a row; the last one takes its place."""
        self._length -= 1
        for grid in (self._allocatable, self._requested, self._nonzero, self._pods):
            grid[:, row] = grid[:, self._length]
            grid[:, self._length] = 0

    def offer(self, row: int, offered: Mapping[str, int]) -> None:
        """Replace what a node offers."""
        self._allocatable[:, row] = 0
        self._pods[1, row] = offered.get(PODS, 0)
        for name, amount in offered.items():
            if name != PODS:
                # Indexed first: a new resource may replace the array.
                index = self._index_of(name)
                self._allocatable[index, row] = amount

    def count(self, row: int, requests: PlacedRequests, sign: int) -> None:
        """Count a pod on a node (1), or no more (-1)."""
        for name, amount in requests.amounts.items():
            index = self._index_of(name)
            self._requested[index, row] += sign * amount
            if name not in {CPU, MEMORY}:
                self._nonzero[index, row] += sign * amount
        for name, amount in ((CPU, requests.nonzero_cpu), (MEMORY, requests.nonzero_memory)):
            index = self._index_of(name)
            self._nonzero[index, row] += sign * amount
        self._pods[0, row] += sign

    def allocatable(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return what the nodes offer."""
        return self._pick(self._allocatable[self._index.get(resource, _NOBODYS)], rows)

    def requested(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return what the pods on the nodes hold."""
        return self._pick(self._requested[self._index.get(resource, _NOBODYS)], rows)

    def nonzero_requested(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return the same with 100m of cpu and 200Mi of memory for each container that requests none."""
        return self._pick(self._nonzero[self._index.get(resource, _NOBODYS)], rows)

    def allocatable_of(self, resources: tuple[str, ...], rows: _Rows | None = None) -> IntArray:
        """Return what the nodes offer."""
        return self._pick_group(self._allocatable, resources, rows)

    def requested_of(self, resources: tuple[str, ...], rows: _Rows | None = None) -> IntArray:
        """Return what the pods on the nodes hold."""
        return self._pick_group(self._requested, resources, rows)

    def nonzero_requested_of(self, resources: tuple[str, ...], rows: _Rows | None = None) -> IntArray:
        """Return the same with 100m of cpu and 200Mi of memory for each container that requests none."""
        return self._pick_group(self._nonzero, resources, rows)

    def pod_counts(self, rows: _Rows | None = None) -> IntArray:
        """Return how many pods the nodes have."""
        return self._pick(self._pods[0], rows)

    def pod_limits(self, rows: _Rows | None = None) -> IntArray:
        """Return how many pods the nodes may have."""
        return self._pick(self._pods[1], rows)

    def _index_of(self, resource: str) -> int:
        index = self._index.get(resource)
        if index is None:
            index = self._index[resource] = _NOBODYS + 1 + len(self._index)
            self._groups.clear()
            if index == len(self._allocatable):
                more = np.zeros_like(self._allocatable)
                self._allocatable = np.concatenate([self._allocatable, more])
                self._requested = np.concatenate([self._requested, more])
                self._nonzero = np.concatenate([self._nonzero, more])
        return index

    def _pick(self, column: IntArray, rows: _Rows | None) -> IntArray:
        return column[: self._length] if rows is None else column[rows]

    def _pick_group(self, grid: IntArray, resources: tuple[str, ...], rows: _Rows | None) -> IntArray:
        lines = self._groups.get(resources)
        if lines is None:
            # What pods ask for together is up to whoever creates them.
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            indexes = [self._index.get(name, _NOBODYS) for name in resources]
            lines = self._groups[resources] = np.array(indexes, dtype=np.intp).reshape(-1, 1)
        return grid[lines[:, 0], : self._length] if rows is None else grid[lines, rows]
