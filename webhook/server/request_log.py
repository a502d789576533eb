"""A line in the log for each decision: a denial always, anything else when debugging."""

from __future__ import annotations

import logging

from webhook.admission.review import Review
from webhook.admission.verdict import Verdict

__all__ = ["is_logged", "log_decision"]

# A part of its own, so that it can be filtered by.
log = logging.getLogger("custom_scheduler.admission")

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
