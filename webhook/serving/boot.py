"""How a worker that can't start tells the master why."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from webhook.errors import CustomSchedulerError

__all__ = ["BootFailure", "BootReport"]

log = logging.getLogger("custom_scheduler.serving")

EXIT_UNUSABLE = 2
EXIT_BUG = 3


class BootFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a worker could not start."""

    exit_code: int
    text: str
    """One line for the person who started the server."""


class BootReport:
    """A channel from all workers to the master; create it before the fork.

    A worker that can't start reports and ends with status 0, so that gunicorn neither logs nor judges it.
    """

    def __init__(self) -> None:
        # Datagrams keep their borders, whoever sends them.
        self._master, self._worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._master.settimeout(0)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Report what is raised in here and end this process. Something unforeseen is also logged, traceback and all."""
        try:
            yield
        except CustomSchedulerError as error:
            self._send(BootFailure(exit_code=EXIT_UNUSABLE, text=str(error)))
            sys.exit(0)
        except Exception as error:
            log.exception("the service could not start")
            self._send(BootFailure(exit_code=EXIT_BUG, text=f"{type(error).__name__}: {error}"))
            sys.exit(0)

    def _send(self, failure: BootFailure) -> None:
        self._worker.send(msgspec.json.encode(failure))

    def failure(self) -> BootFailure | None:
        """Return the first failure that has not been returned yet; for the master."""
        try:
            report = self._master.recv(65536)
        except BlockingIOError:
            return None
        return msgspec.json.decode(report, type=BootFailure)

    def close(self) -> None:
        """Close both ends."""
        self._master.close()
        self._worker.close()
