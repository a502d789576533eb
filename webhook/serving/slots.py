"""Which of a server's workers a process is: a number that a worker leaves to the one that replaces it."""

from __future__ import annotations

import fcntl
import itertools
import os
import struct

__all__ = ["WorkerSlots"]


# struct flock of fcntl(2): type, whence, start, length, process, and what fills it up.
_FLOCK = struct.Struct("hhqqi4x")


class WorkerSlots:
    """Small numbers, one for each worker that lives. Make it before the fork.

    A worker holds its number as a lock on one byte of a file in memory that all have from the master, so it is free
    again however the worker ends.
    """

    def __init__(self) -> None:
        self._file = os.fdopen(os.memfd_create("worker-slots"), "wb")

    def close(self) -> None:
        """Give up what was made; for the master, when all workers have ended."""
        self._file.close()

    def take(self) -> int:
        """Return the lowest number that no other process holds; this one holds it until it ends."""
        for slot in itertools.count():
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
            except OSError:  # EACCES or EAGAIN, fcntl(2)
                continue
            return slot
        raise AssertionError("not reached")

    def holder(self, slot: int) -> int | None:
        """Return the process id of the other process that holds this number, if one does."""
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, slot, 1, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(self._file, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else process
