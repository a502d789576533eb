"""Which rows of the node table have changed since an answer about them was kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ChangedRows"]

# Changed rows that are remembered: far more than happen between two decisions in a busy cluster.
_LONGEST_LOG = 4096


class ChangedRows:
    """A log of changes. Its reader keeps `now`, and asks for what has changed `since`."""

    def __init__(self) -> None:
        # The rows of the changes since `_start`, itself counted in changes.
        self._log: list[int] = []
        self._start = 0
        # What was asked last: several readers are mostly equally far.
        self._asked = (0, 0)
        self._answer: npt.NDArray[np.intp] | None = None

    @property
    def now(self) -> int:
        """All changes so far."""
        return self._start + len(self._log)

    def add(self, row: int) -> None:
        """Take note that something about the node in a row has changed."""
        self._log.append(row)
        if len(self._log) > _LONGEST_LOG:
            half = len(self._log) // 2
            del self._log[:half]
            self._start += half

    def clear(self) -> None:
        """Take note that rows have come, gone or moved: whatever was kept is void."""
        self._start += len(self._log) + 1
        self._log.clear()

    def since(self, then: int) -> npt.NDArray[np.intp] | None:
        """Return the rows that have changed, ascending; None if that is not known any more, or rows have moved."""
        if then < self._start:
            return None
        if self._asked != (then, self.now) or self._answer is None:
            self._asked = (then, self.now)
            self._answer = np.array(sorted(set(self._log[then - self._start :])), dtype=np.intp)
        return self._answer
