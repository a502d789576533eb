"""Plugins that others have replaced, and that what began with them may still use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from webhook.scheduling.framework import Framework
from webhook.scheduling.made import Made
from webhook.scheduling.profile import made_of

__all__ = ["Retirement"]


class Retirement:
    """Holds each until no framework that is still in use has it, and gives it to `release` then."""

    def __init__(self, release: Callable[[Collection[Made]], None]) -> None:
        self._release = release
        self._retired: dict[int, Made] = {}

    def replaced(self, before: Mapping[str, Framework], now: Mapping[str, Framework]) -> None:
        """Take in that these frameworks have come in place of those before."""
        kept = {id(each) for each in made_of(now)}
        self._retired.update((id(each), each) for each in made_of(before) if id(each) not in kept)

    def settle(self, in_use: Callable[[], Iterable[Framework]]) -> None:
        """Release what none of these frameworks has; cheap where nothing has been replaced."""
        if not self._retired:
            return
        used = {id(each) for framework in in_use() for each in framework.plugins.made.values()}
        unused = [each for each in self._retired.values() if id(each) not in used]
        if unused:
            self._retired = {key: each for key, each in self._retired.items() if key in used}
            self._release(unused)
