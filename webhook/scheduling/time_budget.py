"""Whether plugins take longer than a decision can bear."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from webhook.observe.plugin_metrics import OVER_BUDGET
from webhook.observe.scheduling_metrics import observe_plugin

__all__ = ["TimeBudget"]

log = logging.getLogger("custom_scheduler.scheduling")

# A decision takes about a millisecond. With this much for each, ten pods a second are placed at most.
BUDGET_SECONDS = 0.1
_SILENT_SECONDS = 60.0


class TimeBudget:
    """Takes the times of sampled calls; one over the budget is counted, and told of once a minute."""

    def __init__(
        self, *, seconds: float = BUDGET_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._told: dict[str, float] = {}

    def report(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """Take note of one call of a plugin; from any thread."""
        observe_plugin(plugin, extension_point, status, seconds)
        if seconds <= self._seconds:
            return
        OVER_BUDGET.labels(plugin, extension_point).inc()
        now = self._clock()
        if now - self._told.get(plugin, -_SILENT_SECONDS) >= _SILENT_SECONDS:
            self._told[plugin] = now
            log.warning(
                "plugin %s took %.0f ms in %s, over its budget of %.0f ms; pods wait for it",
                plugin,
                1000 * seconds,
                extension_point,
                1000 * self._seconds,
            )
