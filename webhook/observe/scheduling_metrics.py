"""Counts and times of scheduling under kube-scheduler's names, labels and buckets, so that its dashboards work.

Source: pkg/scheduler/metrics/metrics.go. A replica that doesn't lead has nothing pending: sums over replicas count
each pod once.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "ALGORITHM_DURATION",
    "ATTEMPTS",
    "ATTEMPT_DURATION",
    "CACHE_SIZE",
    "EXTENSION_POINT_DURATION",
    "LEADER",
    "PENDING_PODS",
    "PERMIT_WAIT_DURATION",
    "PLUGIN_DURATION",
    "PLUGIN_EVALUATIONS",
    "SCHEDULED_AFTER_FLUSH",
    "SCHEDULING_ATTEMPTS",
    "SLI_DURATION",
    "UNSCHEDULABLE_PODS",
    "attempts_label",
    "observe_plugin",
]


def _exponential(start: float, count: int, factor: float = 2.0) -> tuple[float, ...]:
    # Multiplied step by step, as Go's client does it: so the label `le` is the same to the last digit.
    return tuple(accumulate([factor] * (count - 1), mul, initial=start))


ATTEMPTS = Counter(
    "scheduler_schedule_attempts",
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, "
    "while 'error' means an internal scheduler problem.",
    ["result", "profile"],
)
ATTEMPT_DURATION = Histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    ["result", "profile"],
    buckets=_exponential(0.001, 15),
)
ALGORITHM_DURATION = Histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds",
    buckets=_exponential(0.001, 15),
)
PLUGIN_DURATION = Histogram(
    "scheduler_plugin_execution_duration_seconds",
    "Duration for running a plugin at a specific extension point, over all nodes, sampled.",
    ["plugin", "extension_point", "status"],
    buckets=_exponential(0.00001, 20, 1.5),
)
EXTENSION_POINT_DURATION = Histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Latency for running all plugins of a specific extension point.",
    ["extension_point", "status", "profile"],
    buckets=_exponential(0.0001, 12),
)
PLUGIN_EVALUATIONS = Counter(
    "scheduler_plugin_evaluation",
    "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, "
    "Filter, PreScore, and Score).",
    ["plugin", "extension_point", "profile"],
)
PERMIT_WAIT_DURATION = Histogram(
    "scheduler_permit_wait_duration_seconds",
    "Duration of waiting on permit.",
    ["result"],
    buckets=_exponential(0.001, 15),
)
PENDING_PODS = Gauge(
    "scheduler_pending_pods",
    "Number of pending pods, by the queue type: active, backoff, unschedulable (tried and failed) or gated.",
    ["queue"],
    multiprocess_mode="livesum",
)
SLI_DURATION = Histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "E2e latency for a pod being scheduled, from its first attempt, over all its attempts.",
    ["attempts"],
    buckets=_exponential(0.01, 20),
)
SCHEDULING_ATTEMPTS = Histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    buckets=_exponential(1, 5),
)
SCHEDULED_AFTER_FLUSH = Counter(
    "scheduler_pod_scheduled_after_flush",
    "Number of pods scheduled after they had waited so long that they were tried without any event.",
)
UNSCHEDULABLE_PODS = Gauge(
    "scheduler_unschedulable_pods",
    "The number of unschedulable and gated pods by plugin; a pod counts for each plugin that rejected it.",
    ["plugin", "profile"],
    multiprocess_mode="livesum",
)
CACHE_SIZE = Gauge(
    "scheduler_cache_size",
    "Number of nodes, pods, and assumed (bound) pods in the scheduler cache; the assumed ones are among the pods.",
    ["type"],
    multiprocess_mode="livesum",
)
# k8s.io/component-base/metrics/prometheus/clientgo/leaderelection
LEADER = Gauge(
    "leader_election_master_status",
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
    "'name' is the string used to identify the lease.",
    ["name"],
    multiprocess_mode="livesum",
)


def attempts_label(attempts: int) -> str:
    """Return the label `attempts`, whose number of values is bounded."""
    return "15+" if attempts >= 15 else str(attempts)


def observe_plugin(plugin: str, extension_point: str, status: str, seconds: float) -> None:
    """Take note of one call of a plugin."""
    PLUGIN_DURATION.labels(plugin, extension_point, status).observe(seconds)
