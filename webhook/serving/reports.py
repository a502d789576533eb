"""What each worker tells of its readiness, so that whichever is asked on the ops port answers for all."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from webhook.serving.slots import WorkerSlots

__all__ = ["WorkerReports"]

_HEAD = struct.Struct("q")  # the process that reports
_LENGTH = 1024


class WorkerReports:
    """A report of each worker that accepts calls, in memory that all share. Make it before the fork.

    It counts for as long as the process that wrote it lives, however that ends, and is cut off after a kibibyte. One
    that is read while it is written may be half of each.
    """

    def __init__(self) -> None:
        self._slots = WorkerSlots()
        self._file = os.fdopen(os.memfd_create("worker-reports"), "rb+", buffering=0)
        self._slot: int | None = None  # in the master always

    def close(self) -> None:
        """Give up what was made; for the master, when all workers have ended."""
        self._file.close()
        self._slots.close()

    def tell(self, reasons: Sequence[str]) -> None:
        """Report why this worker, which accepts calls, should get none; no reasons where it should."""
        if self._slot is None:
            self._slot = self._slots.take()
        self._write(self._slot, os.getpid(), reasons)

    def withdraw(self) -> None:
        """Take the report of this worker back, which accepts no more calls."""
        if self._slot is not None:
            self._write(self._slot, 0, [])

    def _write(self, slot: int, process: int, reasons: Sequence[str]) -> None:
        text = "\n".join(reasons).encode()[: _LENGTH - _HEAD.size]
        report = (_HEAD.pack(process) + text).ljust(_LENGTH, b"\0")
        os.pwrite(self._file.fileno(), report, slot * _LENGTH)

    def of_others(self) -> dict[int, list[str]]:
        """Return what the other workers that accept calls have told last, by process id."""
        found: dict[int, list[str]] = {}
        for slot in range(os.fstat(self._file.fileno()).st_size // _LENGTH):
            report = os.pread(self._file.fileno(), _LENGTH, slot * _LENGTH)
            (process,) = _HEAD.unpack_from(report)
            # The number may be another's by now, who has not told yet.
            if process and process == self._slots.holder(slot):
                found[process] = report[_HEAD.size :].rstrip(b"\0").decode(errors="replace").splitlines()
        return found
