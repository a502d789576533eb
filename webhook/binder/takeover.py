"""What a new leader does before its first decision: let the old leader's requests end, and look at everything anew."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Protocol

from webhook.binder.binding import BIND_SECONDS

__all__ = ["Listing", "Takeover"]


class Listing(Protocol):
    """An informer, as far as a takeover uses it."""

    @property
    def synced(self) -> Flag:
        """Set when the last list asked for has been handed over."""

    def relist(self) -> None:
        """Clear `synced` and read everything anew."""


class Flag(Protocol):
    """A `threading.Event`."""

    def is_set(self) -> bool:
        """Tell whether it is set."""


class _Phase(enum.Enum):
    STANDBY = enum.auto()
    WAITING = enum.auto()
    LISTING = enum.auto()
    OVER = enum.auto()


class Takeover:
    """One takeover after the other, in the thread that calls it. `is_over` tells whether decisions may begin."""

    def __init__(self, listings: Sequence[Listing], clock: Callable[[], float]) -> None:
        self._listings = listings
        self._clock = clock
        self._phase = _Phase.STANDBY
        self._until = 0.0
        self._unlisted: list[Listing] = []

    @property
    def is_over(self) -> bool:
        """The cache shows all that the leaders before us have done."""
        return self._phase is _Phase.OVER

    def begin(self, *, old_leader_may_act: bool) -> None:
        """Start: this replica has become the leader."""
        self._until = self._clock() + (BIND_SECONDS if old_leader_may_act else 0.0)
        self._phase = _Phase.WAITING

    def end(self) -> None:
        """Go back to standby: this replica leads no more."""
        self._phase = _Phase.STANDBY

    def step(self) -> float | None:
        """Go on if it is time; returns the clock's time at which to call again, None if there is none."""
        if self._phase is not _Phase.WAITING:
            return None
        if self._clock() < self._until:
            return self._until
        self._phase = _Phase.LISTING
        self._unlisted = list(self._listings)
        for listing in self._listings:
            listing.relist()
        return None

    def listed(self, listing: Listing) -> None:
        """Take note that a list has been handed over; one from before the takeover doesn't count."""
        if self._phase is _Phase.LISTING and listing.synced.is_set() and listing in self._unlisted:
            self._unlisted.remove(listing)
            if not self._unlisted:
                self._phase = _Phase.OVER
