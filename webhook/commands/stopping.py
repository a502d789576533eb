"""The order to stop, for a command that has nothing else to wait for."""

from __future__ import annotations

import os
import signal
import socket
from types import FrameType

__all__ = ["StopSignals"]

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """SIGTERM and SIGINT, from the moment this is made on; the first one is waited for, the second ends the process.

    The kernel may give a signal to any thread, also to one that a library in C has started and that never runs
    Python (signal(7)). So what is waited for is a socket, which Python's handler writes to from whichever thread.
    """

    def __init__(self) -> None:
        self._told, teller = socket.socketpair()
        teller.settimeout(0)
        self._teller = teller
        signal.set_wakeup_fd(teller.fileno())
        for number in _STOP_SIGNALS:
            signal.signal(number, _note)

    def wait(self) -> None:
        """Return after the first signal. From then on, one more ends the process, whatever it is at."""
        self._told.recv(1)
        for number in _STOP_SIGNALS:
            signal.signal(number, _end)

    def close(self) -> None:
        """Take no more notice; a signal still ends the process."""
        signal.set_wakeup_fd(-1)
        self._told.close()
        self._teller.close()


def _note(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that the signal came is in the socket."""


def _end(number: int, _frame: FrameType | None) -> None:
    # Not by the default action, which the kernel leaves out for the first process of a container.
    os._exit(128 + number)
