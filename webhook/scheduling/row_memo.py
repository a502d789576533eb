"""Answers about nodes that are kept from one decision to the next, and brought up to date row by row.

Between two decisions about like pods little more changes than the node that the first one took.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RowMemo"]

_Rows = npt.NDArray[np.intp]
_Column = npt.NDArray[Any]

# Changed rows that are remembered: far more than happen between two decisions in a busy cluster.
_LONGEST_LOG = 4096


@dataclass(slots=True)
class _Kept:
    column: _Column
    # All changes before this one, counted from the beginning, are in it.
    up_to: int


class RowMemo:
    """A column per question, over all rows of the node table, for the `limit` questions asked last."""

    def __init__(self, *, limit: int = 64) -> None:
        self._limit = limit
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        # The rows of the changes since `_log_start`, itself counted in changes.
        self._log: list[int] = []
        self._log_start = 0

    def changed(self, row: int) -> None:
        """Take note that something about the node in a row has changed."""
        self._log.append(row)
        if len(self._log) > _LONGEST_LOG:
            half = len(self._log) // 2
            del self._log[:half]
            self._log_start += half

    def clear(self) -> None:
        """Forget all answers: rows have come, gone or moved."""
        self._kept.clear()
        self._log_start += len(self._log)
        self._log.clear()

    def get(self, question: Hashable, length: int, answer: Callable[[_Rows | None], _Column]) -> _Column:
        """Return the answer for all `length` rows, read-only; `answer` is asked for some rows, or for all on None.

        It must depend on nothing but the question and on each node by itself.
        """
        kept = self._kept.get(question)
        now = self._log_start + len(self._log)
        if kept is None or kept.up_to < self._log_start or now - kept.up_to > length // 8:
            kept = self._kept[question] = _Kept(answer(None), now)
        elif kept.up_to < now:
            rows = np.array(sorted(set(self._log[kept.up_to - self._log_start :])), dtype=np.intp)
            kept.column[rows] = answer(rows)
            kept.up_to = now
        self._kept.move_to_end(question)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        view = kept.column.view()
        view.flags.writeable = False
        return view
