"""Clocks that a test has in its hands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["SetClock", "TickingClock"]

T = TypeVar("T")


@dataclass
class SetClock(Generic[T]):
    """Stands still until its `now` is set."""

    now: T

    def __call__(self) -> T:
        return self.now


@dataclass
class TickingClock:
    """A second passes between two looks."""

    ticks: int = 0

    def __call__(self) -> float:
        self.ticks += 1
        return float(self.ticks)
