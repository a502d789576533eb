"""Runs a program so that it can't outlive the one that started it.

A launcher of its own, and not a `preexec_fn`, since that may deadlock where the starting process has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["tethered"]

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tethered(command: Sequence[str | Path], *, signum: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return a command that runs `command` in the same process, and has the kernel send it `signum` when we end.

    "We" is the thread that starts it (prctl(2), PR_SET_PDEATHSIG), so that thread has to live as long as the
    program shall. Its pid, arguments, environment and exit code are those of `command` alone.
    """
    launcher = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(signum))]
    return [*launcher, *(str(argument) for argument in command)]


def _main(parent: int, signum: int, command: list[str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(f"{command[0]} is not started: the process that wanted it has ended")
    # Python ignores these, and a program inherits that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606 (no shell is the point)


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
