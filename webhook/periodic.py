"""A thread that does one thing every few seconds until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ["PeriodicThread"]

log = logging.getLogger("custom_scheduler.periodic")


class PeriodicThread:
    """Calls `action` every `seconds`; an exception is logged, and the next call comes all the same."""

    def __init__(self, name: str, action: Callable[[], object], *, seconds: float) -> None:
        self._action = action
        self._seconds = seconds
        self._stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; the first call of the action comes after one period."""
        self.thread.start()

    def stop(self) -> None:
        """End the thread and wait until a call under way has returned."""
        self._stopped.set()
        self.thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._action()
            except Exception:
                log.exception("%s failed; trying again in %g s", self.thread.name, self._seconds)
