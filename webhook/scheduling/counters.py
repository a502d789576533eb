"""Numbers per node that are counted along with every change, for a bounded number of keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from webhook.scheduling.columns import IntArray

__all__ = ["Counters"]

K = TypeVar("K", bound=Hashable)

_FIRST_SLOTS = 16
_FIRST_ROWS = 64


class Counters(Generic[K]):
    """A column of whole numbers per key, over the rows of the node table.

    What is asked for is up to whoever creates pods, so only the `limit` most recently used columns are kept; the
    owner counts afresh what it asks for again.
    """

    def __init__(self, *, limit: int = 512) -> None:
        self._limit = limit
        self._rows = 0
        self._slots: OrderedDict[K, int] = OrderedDict()
        self._grid = np.zeros((_FIRST_SLOTS, _FIRST_ROWS), dtype=np.int64)

    def __contains__(self, key: K) -> bool:
        return key in self._slots

    def get(self, key: K) -> IntArray | None:
        """Return the column of a key, over all rows; None if it isn't kept."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        self._slots.move_to_end(key)
        return self._column(slot)

    def make(self, key: K, counts: Iterable[tuple[int, int]]) -> K | None:
        """Keep a column that starts with these (row, number) pairs; returns the key that made room for it, if any."""
        dropped = None
        if len(self._slots) == self._limit:
            dropped, slot = self._slots.popitem(last=False)
            self._grid[slot] = 0
        else:
            slot = len(self._slots)
            if slot == len(self._grid):
                self._grid = np.concatenate([self._grid, np.zeros_like(self._grid)])
        self._slots[key] = slot
        for row, number in counts:
            self._grid[slot, row] += number
        return dropped

    def add(self, key: K, row: int, number: int) -> None:
        """Count, if the key is kept."""
        slot = self._slots.get(key)
        if slot is not None:
            self._grid[slot, row] += number

    def append_row(self) -> int:
        """Take in that the table has one more row, which this returns; nothing is counted there yet."""
        if self._rows == self._grid.shape[1]:
            self._grid = np.concatenate([self._grid, np.zeros_like(self._grid)], axis=1)
        self._rows += 1
        return self._rows - 1

    def swap_remove(self, row: int) -> None:
        """Take in that a row is gone; the last one took its place."""
        self._rows -= 1
        self._grid[:, row] = self._grid[:, self._rows]
        self._grid[:, self._rows] = 0

    def _column(self, slot: int) -> IntArray:
        column = self._grid[slot, : self._rows]
        column.flags.writeable = False
        return column
