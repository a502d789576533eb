"""What nodes offer and pods hold, resource by resource, as columns of the node table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import IntArray
from webhook.scheduling.resources import CPU, MEMORY, PODS, PlacedRequests

__all__ = ["Amounts"]

_FIRST_ROWS = 64
_FIRST_RESOURCES = 4
_NONZERO = {CPU: 0, MEMORY: 1}

_Rows = npt.NDArray[np.intp]


class Amounts:
    """Whole numbers per resource and row: millicores of cpu, units of all else. Rows are dense, as in the table.

    The methods that take `rows` answer for these rows, or for all of them on None.
    """

    def __init__(self) -> None:
        self._length = 0
        self._index: dict[str, int] = {}
        self._allocatable = np.zeros((_FIRST_RESOURCES, _FIRST_ROWS), dtype=np.int64)
        self._requested = np.zeros((_FIRST_RESOURCES, _FIRST_ROWS), dtype=np.int64)
        # cpu, memory: with defaults for containers that request none.
        self._nonzero = np.zeros((2, _FIRST_ROWS), dtype=np.int64)
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
        self._nonzero[0, row] += sign * requests.nonzero_cpu
        self._nonzero[1, row] += sign * requests.nonzero_memory
        self._pods[0, row] += sign

    def allocatable(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return what the nodes offer; 0 for a resource that no node has."""
        return self._resource(self._allocatable, resource, rows)

    def requested(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return what the pods on the nodes hold."""
        return self._resource(self._requested, resource, rows)

    def nonzero_requested(self, resource: str, rows: _Rows | None = None) -> IntArray:
        """Return the same for cpu and memory, where a container without a request counts 100m and 200Mi."""
        return self._pick(self._nonzero[_NONZERO[resource]], rows)

    def pod_counts(self, rows: _Rows | None = None) -> IntArray:
        """Return how many pods the nodes have."""
        return self._pick(self._pods[0], rows)

    def pod_limits(self, rows: _Rows | None = None) -> IntArray:
        """Return how many pods the nodes may have."""
        return self._pick(self._pods[1], rows)

    def _index_of(self, resource: str) -> int:
        index = self._index.setdefault(resource, len(self._index))
        if index == len(self._allocatable):
            more = np.zeros_like(self._allocatable)
            self._allocatable = np.concatenate([self._allocatable, more])
            self._requested = np.concatenate([self._requested, more])
        return index

    def _resource(self, grid: IntArray, resource: str, rows: _Rows | None) -> IntArray:
        index = self._index.get(resource)
        if index is None:
            return np.zeros(self._length if rows is None else len(rows), dtype=np.int64)
        return self._pick(grid[index], rows)

    def _pick(self, column: IntArray, rows: _Rows | None) -> IntArray:
        return column[: self._length] if rows is None else column[rows]
