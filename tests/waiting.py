"""Waiting for what another thread or process does: until it shows, and not a moment longer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["eventually"]

T = TypeVar("T")


def eventually(look: Callable[[], T | None], what: str = "", *, seconds: float = 20.0) -> T:
    """Return what `look` gives as soon as that is truthy; fail after `seconds`, saying `what` was waited for."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what} (last seen: {seen!r})"
        time.sleep(0.01)
    return seen
