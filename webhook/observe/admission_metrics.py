"""Counts and times of admission requests, with no names of pods, users or namespaces: those are unbounded."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = ["DURATION", "POLICY_GENERATION", "POLICY_REFUSED", "POLICY_RELOAD_FAILURES", "REQUESTS"]

REQUESTS = Counter(
    "custom_scheduler_admission_requests",
    "Admission requests answered, by path of the webhook, operation and verdict.",
    ["webhook", "operation", "verdict"],
)
DURATION = Histogram(
    "custom_scheduler_admission_duration_seconds",
    "Time from the whole request read to the response ready to send.",
    ["webhook"],
    # A decision takes well under a millisecond; the API server gives up after two seconds.
    buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
)
POLICY_GENERATION = Gauge(
    "custom_scheduler_policy_generation",
    "First 48 bits of the SHA-256 of the canonical policy in force; replicas that differ disagree.",
    multiprocess_mode="mostrecent",
)
POLICY_REFUSED = Gauge(
    "custom_scheduler_policy_refused",
    "1 while the policy's file as it stands is refused and the last good policy stays in force, else 0.",
    multiprocess_mode="livemax",
)
POLICY_RELOAD_FAILURES = Counter(
    "custom_scheduler_policy_reload_failures",
    "Policy files that were refused while the last good policy stayed in force.",
)
