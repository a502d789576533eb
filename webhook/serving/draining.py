"""The flag that says: we are about to stop, send new calls elsewhere."""

from __future__ import annotations

import mmap

__all__ = ["Draining"]


class Draining:
    """A flag that the master sets once and all its workers see, since they map the same byte.

    Create it before the fork.
    """

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def set(self) -> None:
        """Say that the server is about to stop."""
        self._byte[0] = 1

    def is_set(self) -> bool:
        """Return whether the server is about to stop."""
        return self._byte[0] == 1
