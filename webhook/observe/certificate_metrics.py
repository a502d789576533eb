"""When certificates expire, so that an alert comes before the outage."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["EXPIRY"]

EXPIRY = Gauge(
    "custom_scheduler_certificate_expiry_timestamp_seconds",
    "When the certificate expires, in seconds since 1970: role ca is the authority, leaf what is served.",
    ["role"],
    # Of several workers, the one whose certificate expires first is the one to worry about.
    multiprocess_mode="livemin",
)
