"""A process that stands still for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import eventually

__all__ = ["suspended"]


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """Stop a process meanwhile, with all its threads: until the last one has stopped, it may still accept."""

    def stands_still() -> bool:
        stats = Path(f"/proc/{pid}/task").glob("*/stat")
        return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in stats)

    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(stands_still, "the process has stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
