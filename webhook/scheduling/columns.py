"""Columns of the node table whose values are strings or tuples: each row holds the id of its value.

A question is asked once per distinct value and answered for all rows by one gather.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, ItemsView, Iterable, ValuesView
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "ColumnCache", "IntArray", "InternedColumn", "Values"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
_Ids = npt.NDArray[np.intp]

V = TypeVar("V", bound=Hashable)
K = TypeVar("K", bound=Hashable)
S = TypeVar("S", bound=np.generic)


class InternedColumn(Generic[V]):
    """One value per row, stored as ids that are reused when no row holds their value any more.

    Rows are 0 to len-1 and kept dense by the owner: `append`, `set`, and `swap_remove`, which moves the
    last row into the gap.
    """

    def __init__(self, values: Iterable[V] = ()) -> None:
        self._ids: _Ids = np.zeros(0, dtype=np.intp)
        self._length = 0
        self._id_of: dict[V, int] = {}
        self._values: list[V] = []
        self._uses: list[int] = []
        self._free: list[int] = []
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return self._length

    def append(self, value: V) -> None:
        """Add a row."""
        if self._length == len(self._ids):
            self._ids = np.resize(self._ids, max(64, 2 * self._length))
        self._ids[self._length] = self._acquire(value)
        self._length += 1

    def set(self, row: int, value: V) -> None:
        """Change a row's value."""
        old = int(self._ids[row])
        self._ids[row] = self._acquire(value)
        self._release(old)

    def swap_remove(self, row: int) -> None:
        """Drop a row; the last one takes its place."""
        self._release(int(self._ids[row]))
        self._length -= 1
        self._ids[row] = self._ids[self._length]

    def values(self, rows: npt.NDArray[np.intp] | None) -> Values[V]:
        """Return the values of the given rows, or of all for None."""
        ids = self._ids[: self._length]
        # Plugins see them. It is a view: the column's own array stays as it is.
        ids.flags.writeable = False
        return Values(ids if rows is None else ids[rows], self._id_of, len(self._values))

    def _acquire(self, value: V) -> int:
        identity = self._id_of.get(value)
        if identity is None:
            if self._free:
                identity = self._free.pop()
                self._values[identity] = value
            else:
                identity = len(self._values)
                self._values.append(value)
                self._uses.append(0)
            self._id_of[value] = identity
        self._uses[identity] += 1
        return identity

    def _release(self, identity: int) -> None:
        self._uses[identity] -= 1
        if not self._uses[identity]:
            del self._id_of[self._values[identity]]
            self._free.append(identity)


@dataclass(frozen=True, slots=True)
class Values(Generic[V]):
    """The values of one column over some rows, to be asked in bulk. Answers are arrays over those rows."""

    ids: _Ids
    _id_of: dict[V, int]
    # Ids are smaller than this.
    size: int

    def equal(self, value: V) -> BoolArray:
        """Return where the value is this one."""
        identity = self._id_of.get(value)
        if identity is None:
            return np.zeros(len(self.ids), dtype=np.bool_)
        return np.equal(self.ids, identity)

    def is_in(self, values: Iterable[V]) -> BoolArray:
        """Return where the value is one of these."""
        table = np.zeros(self.size, dtype=np.bool_)
        for value in values:
            identity = self._id_of.get(value)
            if identity is not None:
                table[identity] = True
        return table[self.ids]

    def where(self, predicate: Callable[[V], bool]) -> BoolArray:
        """Return where the predicate holds; it is called once per distinct value in the column."""
        return self._spread([predicate(value) for value in self._id_of], np.bool_)

    def count(self, measure: Callable[[V], int]) -> IntArray:
        """Return the measure of each row's value; it is called once per distinct value in the column."""
        return self._spread([measure(value) for value in self._id_of], np.int64)

    def _spread(self, answers: list[Any], dtype: type[S]) -> npt.NDArray[S]:
        """Return the answers for the distinct values, in their order, put where the values are."""
        if len(set(answers)) == 1:
            return np.full(len(self.ids), answers[0], dtype=dtype)
        table = np.zeros(self.size, dtype=dtype)
        table[list(self._id_of.values())] = answers
        return table[self.ids]


class ColumnCache(Generic[K, V]):
    """Columns that are built when first asked for and then kept up to date with the table.

    Which keys are asked for is up to whoever creates pods, so only the `limit` most recently used stay.
    """

    def __init__(self, *, limit: int = 256) -> None:
        self._columns: OrderedDict[K, InternedColumn[V]] = OrderedDict()
        self._limit = limit

    def get(self, key: K, build: Callable[[], Iterable[V]]) -> InternedColumn[V]:
        """Return the column of a key, built from one value per row if it isn't there."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = InternedColumn(build())
            if len(self._columns) > self._limit:
                self._columns.popitem(last=False)
        else:
            self._columns.move_to_end(key)
        return column

    def items(self) -> ItemsView[K, InternedColumn[V]]:
        """Return all columns that are kept, for the table to update."""
        return self._columns.items()

    def values(self) -> ValuesView[InternedColumn[V]]:
        """Return the same without their keys."""
        return self._columns.values()
