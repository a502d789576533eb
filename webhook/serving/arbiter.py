"""gunicorn's master process, which drains before it stops and says why a worker could not start."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
import time
from types import FrameType

import gunicorn.arbiter
from gunicorn.app.base import BaseApplication

from webhook.serving.boot import BootFailure, BootReport
from webhook.serving.draining import Draining

__all__ = ["DrainingArbiter"]

log = logging.getLogger("custom_scheduler.serving")

# What a stop at once leaves the workers for, before SIGKILL.
_QUICK_STOP_SECONDS = 2


class DrainingArbiter(gunicorn.arbiter.Arbiter):
    """Answers the first SIGTERM or SIGINT by draining and then stopping, the second by stopping at once.

    Stock gunicorn closes its listening sockets within 0.3 s of SIGTERM, while kube-proxy and the API server
    still send calls here.
    """

    def __init__(
        self,
        app: BaseApplication,
        *,
        listener: socket.socket,
        draining: Draining,
        drain_seconds: float,
        boot_report: BootReport,
    ) -> None:
        super().__init__(app)
        # Set, so that gunicorn opens none. It needs no more of them than what a socket has.
        self.LISTENERS = [listener]  # type: ignore[misc, list-item]
        self.failure: BootFailure | None = None
        """Why the server ended, if it did so because a worker could not start."""
        self._draining = draining
        self._drain_seconds = drain_seconds
        self._boot_report = boot_report
        self._told_to_stop = False
        self._stop_at = math.inf

    def signal(self, sig: int, frame: FrameType | None) -> None:
        """Queue a signal: the first SIGTERM or SIGINT as SIGTERM, and each later one as SIGQUIT.

        gunicorn takes SIGQUIT as a stop at once also while it stops gracefully. This runs as a signal handler.
        """
        if sig in (signal.SIGTERM, signal.SIGINT):
            sig = signal.SIGQUIT if self._told_to_stop else signal.SIGTERM
            self._told_to_stop = True
        super().signal(sig, frame)

    def handle_term(self) -> None:
        """Begin to drain."""
        self._draining.set()
        self._stop_at = time.monotonic() + self._drain_seconds
        log.info(
            "stopping: not ready any more, still answering for %g s; a second signal stops at once",
            self._drain_seconds,
        )

    def handle_quit(self) -> None:
        """Stop at once."""
        log.info("stopping at once")
        self.cfg.set("graceful_timeout", _QUICK_STOP_SECONDS)
        super().handle_quit()

    def handle_usr2(self) -> None:
        """Refuse gunicorn's upgrade in place: it would run the command line again, with the port taken."""
        log.warning("SIGUSR2 is ignored: start a new process instead")

    def wait_for_signals(self, timeout: float | None = 1.0) -> list[int]:
        """Return the signals that came within `timeout`; begins the graceful stop when the drain is over."""
        remaining = self._stop_at - time.monotonic()
        if remaining <= 0:
            raise StopIteration  # what run() takes as the order to stop
        return super().wait_for_signals(min(remaining, timeout or 0.0))

    def handle_chld(self) -> None:
        """Stop where a worker could not start: the next one could not either."""
        super().handle_chld()
        self.failure = self._boot_report.failure()
        if self.failure is not None:
            raise StopIteration

    handle_cld = handle_chld  # gunicorn calls the signal by either name

    def spawn_worker(self) -> int:
        """Fork a worker. The child ends in here: it must not unwind what the master's callers have open.

        Threads that still wait for a client don't hold it up either, as they would at a normal exit.
        """
        master = os.getpid()
        status = 1
        try:
            return super().spawn_worker()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
            raise
        finally:
            if os.getpid() != master:
                sys.stdout.flush()
                logging.shutdown()
                os._exit(status)
