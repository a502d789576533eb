"""Where the time comes from: injected everywhere, so that tests can live through years."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "utc_now"]

Clock = Callable[[], datetime]
"""Returns the time as an aware datetime in UTC."""


def utc_now() -> datetime:
    """Return the machine's wall-clock time: certificates are judged by it, everywhere."""
    return datetime.now(UTC)
