"""Two clocks that a machine's own can't mislead: the time since its boot, and the API server's."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

__all__ = ["ServerClock", "boot_time"]


def boot_time() -> float:
    """Return seconds since boot, suspended time too: a process that slept must know for how long."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class ServerClock:
    """The API server's time, from the Date header of its last answer (RFC 9110 section 6.6.1)."""

    def __init__(self, boot_clock: Callable[[], float] = boot_time) -> None:
        self._boot_clock = boot_clock
        self._heard: tuple[str, float] | None = None

    def hear(self, date: str | None) -> None:
        """Take note of the Date header of an answer that came just now."""
        if date is not None:
            self._heard = date, self._boot_clock()

    def now(self) -> datetime | None:
        """Return its time, to the second; None before the first answer that told one."""
        if self._heard is None:
            return None
        date, heard_at = self._heard
        try:
            told = parsedate_to_datetime(date)
        except ValueError:
            return None
        if told.tzinfo is None:  # "-0000" and unknown zones
            return None
        return told.astimezone(UTC) + timedelta(seconds=self._boot_clock() - heard_at)
