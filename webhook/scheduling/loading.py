"""Which plugin is being loaded or made, and whether that takes too long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loading", "overdue", "watched"]

# Most take less than a second; one that imports a large library may take a few.
PATIENCE_SECONDS = 30.0

log = logging.getLogger("custom_scheduler.scheduling")

# With the time when each began; the last is within those before it.
_under_way: list[tuple[str, float]] = []


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Within the block, `what` is under way."""
    entry = what, time.monotonic()
    _under_way.append(entry)
    try:
        yield
    finally:
        _under_way.remove(entry)


def overdue() -> Iterator[tuple[str, float]]:
    """Yield what has been under way for too long, and for how many seconds."""
    for what, since in tuple(_under_way):
        seconds = time.monotonic() - since
        if seconds >= PATIENCE_SECONDS:
            yield what, seconds


@contextmanager
def watched() -> Iterator[None]:
    """Log what is under way if the block takes too long: code of others may never return, and nothing else would tell."""
    timer = threading.Timer(PATIENCE_SECONDS, _tell)
    timer.name = "slow plugins"
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _tell() -> None:
    what = _under_way[-1:]
    log.error(
        "plugins have been loading for %g s and aren't done%s; until then no other change takes effect",
        PATIENCE_SECONDS,
        "".join(f", now with {name}" for name, _ in what),
    )
