"""How old the measurements are by which nodes are ranked."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["AGE"]

AGE = Gauge(
    "custom_scheduler_node_metrics_age_seconds",
    "Seconds since metrics.k8s.io told anything new of any node, +Inf before the first time; "
    "0 where no plugin asks for it.",
    multiprocess_mode="livemax",
)
