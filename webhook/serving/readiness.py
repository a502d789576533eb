"""Whether a process should get traffic, as probes, alerts and the log tell it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from webhook.observe.readiness_metrics import READY

__all__ = ["DRAINING", "STARTING", "STOPPING", "Readiness"]

STARTING = "starting"
DRAINING = "draining before the stop"
STOPPING = "stopping"

log = logging.getLogger("custom_scheduler.serving")

_IN_ORDER = frozenset({STARTING, DRAINING, STOPPING})

# Some reasons count seconds, so they differ at each probe.
_SILENT_SECONDS = 60.0


class Readiness:
    """Asks `not_ready` for the reasons why not, and has the metric of `component` and the log say the same.

    The log gets a line when readiness is lost and when it is back; when only the reasons change, once a minute. What
    belongs to every start and stop is no warning. For one thread.
    """

    def __init__(
        self,
        not_ready: Callable[[], list[str]],
        *,
        component: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._not_ready = not_ready
        self._metric = READY.labels(component)
        self._clock = clock
        self._was_ready = False
        self._told: list[str] = []
        self._told_at = 0.0

    def reasons(self) -> list[str]:
        """Return why this process should get no traffic now; nothing if it should."""
        reasons = self._not_ready()
        self._metric.set(not reasons)
        self._was_ready |= not reasons
        if reasons != self._told:
            self._tell(reasons)
        return reasons

    def _tell(self, reasons: list[str]) -> None:
        now = self._clock()
        if reasons and self._told and now - self._told_at < _SILENT_SECONDS:
            return
        self._told, self._told_at = list(reasons), now
        if reasons:
            is_in_order = not self._was_ready or _IN_ORDER.issuperset(reasons)
            level = logging.INFO if is_in_order else logging.WARNING
            log.log(level, "not ready: %s", "; ".join(reasons))
        else:
            log.info("ready")
