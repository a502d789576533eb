"""What a server costs: the processor time and the memory of its whole tree of processes, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cpu_seconds", "pss_mib"]

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the processor time, of the user's and the kernel's doing, that a process and its descendants have used.

    A child that has ended counts through its parent, which has waited for it.
    """
    return sum(_ticks(Path(f"/proc/{process}/stat").read_text()) for process in _tree(pid)) / _TICKS


def pss_mib(pid: int) -> float:
    """Return the memory of a process and its descendants: proportional set size, so that shared pages count once."""
    return sum(_pss_kib(Path(f"/proc/{process}/smaps_rollup").read_text()) for process in _tree(pid)) / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from _tree(int(child))


def _ticks(stat: str) -> int:
    # The name in parentheses may hold spaces; utime, stime, cutime and cstime are fields 14 to 17 (proc_pid_stat(5)).
    return sum(map(int, stat.rpartition(")")[2].split()[11:15]))


def _pss_kib(rollup: str) -> int:
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
