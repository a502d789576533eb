"""What /readyz says, for an alert that must not depend on who else asks."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["READY"]

READY = Gauge(
    "custom_scheduler_ready",
    "What /readyz says: 1 is ready, 0 is not. Component is webhook, binder or extender.",
    ["component"],
    # Of several workers, whichever answers says it for all, as on /readyz.
    multiprocess_mode="mostrecent",
)
