"""The plugins that have been given out to decide, until each is closed."""

from __future__ import annotations

from collections.abc import Iterable
from queue import Empty, SimpleQueue

from webhook.scheduling.made import Made, close_plugins

__all__ = ["Lifetimes"]


class Lifetimes:
    """Closes plugins on the thread that calls `end_released` and `end_all`; `release` may be called from any."""

    def __init__(self) -> None:
        self._alive: dict[int, Made] = {}
        self._released: SimpleQueue[Made] = SimpleQueue()

    def begin(self, made: Iterable[Made]) -> None:
        """Take note of plugins that are given out; of those that are known already, nothing comes."""
        self._alive.update((id(each), each) for each in made)

    def release(self, made: Iterable[Made]) -> None:
        """Have these closed soon: nothing uses them any more."""
        for each in made:
            self._released.put(each)

    def end_released(self) -> None:
        """Close what has been released."""
        released = []
        while True:
            try:
                released.append(self._released.get_nowait())
            except Empty:
                break
        for each in released:
            self._alive.pop(id(each), None)
        close_plugins(released, but=self._alive.values())

    def end_all(self) -> None:
        """Close all that has not been closed."""
        alive, self._alive = self._alive, {}
        close_plugins(alive.values())
