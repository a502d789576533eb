"""What plugins do wrong where the pod goes on all the same: in the queue's order, in hints, and in taking back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from webhook.scheduling.containment import PluginError, described, faults
from webhook.scheduling.status import SUCCESS, Status

__all__ = ["SideFaults"]

Args = ParamSpec("Args")
T = TypeVar("T")

# Such a call comes for many pods at once, and each would log the same traceback.
_SILENT_SECONDS = 60.0

log = logging.getLogger("custom_scheduler.scheduling")


class SideFaults:
    """Asks plugins where no attempt fails by them. A fault is logged once a minute for each plugin and point.

    `listener` hears of each fault, by plugin and point, and of Success when the plugin is well again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.listener: Callable[[str, str, Status], None] = lambda _plugin, _point, _status: None
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}
        self._failing: set[tuple[str, str]] = set()

    def ask(
        self,
        plugin: str,
        point: str,
        checked: Callable[[str, object], T],
        method: Callable[Args, object],
        *args: Args.args,
        **kwargs: Args.kwargs,
    ) -> T:
        """Return the method's answer as `checked` returns it; raises PluginError for whatever one of them raised."""
        try:
            answer = checked(plugin, method(*args, **kwargs))
        except PluginError as error:
            self._failed(point, error)
            raise
        except faults() as error:
            failure = PluginError(plugin, point, described(error))
            self._failed(point, failure, error)
            raise failure from error
        if self._failing:
            self._passed(plugin, point)
        return answer

    def _failed(self, point: str, failure: PluginError, cause: BaseException | None = None) -> None:
        key = failure.plugin, point
        self._failing.add(key)
        now = self._clock()
        if now - self._told.get(key, -_SILENT_SECONDS) >= _SILENT_SECONDS:
            self._told[key] = now
            log.error("%s", failure, exc_info=cause)
        self.listener(failure.plugin, point, failure.status)

    def _passed(self, plugin: str, point: str) -> None:
        if (plugin, point) in self._failing:
            self._failing.remove((plugin, point))
            self.listener(plugin, point, SUCCESS)
