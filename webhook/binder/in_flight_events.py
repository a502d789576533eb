"""What has happened in the cluster while pods were in flight, so that none of them misses what would have woken it."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.scheduling.events import Happening

__all__ = ["InFlightEvents"]

# A pod that waits at Permit is in flight for minutes, in which all of this holds on to objects of the cluster.
_MOST = 10_000


class InFlightEvents:
    """A log of events from the first pod in flight on. Each pod keeps the `now` at which its attempt began."""

    def __init__(self, *, most: int = _MOST) -> None:
        self._most = most
        # The events since `_start`, itself counted in events.
        self._events: list[Happening] = []
        self._start = 0

    @property
    def now(self) -> int:
        """All events so far."""
        return self._start + len(self._events)

    def add(self, happening: Happening) -> None:
        """Take note of an event."""
        self._events.append(happening)
        if len(self._events) > self._most:
            self.forget_before(self._start + self._most // 2)

    def since(self, then: int) -> Sequence[Happening] | None:
        """Return what has happened since then, or None if that is not known any more."""
        return None if then < self._start else self._events[then - self._start :]

    def forget_before(self, then: int) -> None:
        """Drop what no pod in flight asks for any more."""
        if then > self._start:
            del self._events[: then - self._start]
            self._start = then
