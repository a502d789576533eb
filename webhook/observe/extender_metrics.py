"""How long kube-scheduler waits for our answers."""

from __future__ import annotations

from prometheus_client import Histogram

__all__ = ["DURATION"]

DURATION = Histogram(
    "custom_scheduler_extender_duration_seconds",
    "Time to answer a call of kube-scheduler's, from its body to ours.",
    ["verb"],
    buckets=tuple(0.0001 * 2.0**power for power in range(15)),
)
