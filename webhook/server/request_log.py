"""A line in the log for each decision: a denial always, anything else when debugging; and for what is no review."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from webhook.admission.review import MalformedReview, Review
from webhook.admission.verdict import Verdict

__all__ = ["MalformedLog", "is_logged", "log_decision"]

# A part of its own, so that it can be filtered by.
log = logging.getLogger("custom_scheduler.admission")

# Anybody who reaches the port can send any number of them.
_SILENT_SECONDS = 60.0

_SAID = {
    "deny": "denied: %s",
    "warn": "warned",
    "audit": "audited",
    "mutate": "mutated",
    "allow": "allowed",
}


def is_logged(verdict: Verdict) -> bool:
    """Tell whether a decision gets a line."""
    return log.isEnabledFor(_level(verdict))


def _level(verdict: Verdict) -> int:
    return logging.DEBUG if verdict.allowed else logging.INFO


def log_decision(path: str, review: Review, verdict: Verdict, seconds: float) -> None:
    """Log who asked for what, and what came of it. Names are as the API server has them, and may be anything."""
    said = [] if verdict.allowed else [verdict.message]
    log.log(
        _level(verdict),
        _SAID[verdict.outcome],
        *said,
        extra={
            "verdict": verdict.outcome,
            "webhook": path,
            "uid": review.uid,
            "operation": review.operation,
            "kind": review.kind.kind,
            "namespace": review.namespace,
            "name_": review.display_name,
            "user": review.user_info.username,
            "rule": verdict.rule,
            "dryRun": bool(review.dry_run),
            "milliseconds": round(seconds * 1000, 3),
        },
    )


class MalformedLog:
    """Logs what is wrong with a body that is no review, once a minute for each path; all of them are in the metrics."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}

    def tell(self, path: str, error: MalformedReview) -> None:
        """Log the fault, unless there was one on this path within the minute."""
        with self._lock:
            now = self._clock()
            if now - self._told.get(path, -_SILENT_SECONDS) < _SILENT_SECONDS:
                return
            self._told[path] = now
        log.warning("not an AdmissionReview v1: %s", error, extra={"webhook": path})
