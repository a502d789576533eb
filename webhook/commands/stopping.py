"""The order to stop, for a command that has nothing else to wait for."""

from __future__ import annotations

import os
import signal
import socket
import threading
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
        self._watch = threading.Thread(target=_end_when_told, args=[self._told], daemon=True)

    def wait(self) -> None:
        """Return after the first signal. From then on, one more ends the process, whatever it is at."""
        self._told.recv(1)
        for number in _STOP_SIGNALS:
            signal.signal(number, _end)
        # Python calls a handler once the main thread gets to it, which may wait for something that never comes.
        self._watch.start()

    def close(self) -> None:
        """Take no more notice; a signal still ends the process."""
        signal.set_wakeup_fd(-1)
        self._teller.close()
        if self._watch.is_alive():
            self._watch.join()
        self._told.close()


def _note(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that the signal came is in the socket."""


def _end_when_told(told: socket.socket) -> None:
    # Python writes the signal's number, and closing the other end comes as nothing.
    if number := told.recv(1):
        os._exit(128 + number[0])


def _end(number: int, _frame: FrameType | None) -> None:
    # Not by the default action, which the kernel leaves out for the first process of a container.
    os._exit(128 + number)
