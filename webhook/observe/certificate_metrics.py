"""When certificates expire and what keeps them from being renewed, so that an alert comes before the outage."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["EXPIRY", "REFUSED"]

EXPIRY = Gauge(
    "custom_scheduler_certificate_expiry_timestamp_seconds",
    "When the certificate expires, in seconds since 1970: role ca is the authority, leaf what is served.",
    ["role"],
    # Of several workers, the one whose certificate expires first is the one to worry about.
    multiprocess_mode="livemin",
)

REFUSED = Gauge(
    "custom_scheduler_certificate_refused",
    "1 while a file of the certificate, its key or the client CA can't be used, and what was there before goes on.",
    multiprocess_mode="livemax",
)
