"""What plugins cost, and how often they fail."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from prometheus_client import Counter, Gauge

from webhook.observe.scheduling_metrics import PLUGIN_DURATION

__all__ = ["FAILURES", "OVER_BUDGET", "REFUSED", "SUSPENDED", "Usage", "usage"]

FAILURES = Counter(
    "custom_scheduler_plugin_failures",
    "Number of times that a plugin has failed: it raised, or answered what it must not.",
    ["plugin"],
)
OVER_BUDGET = Counter(
    "custom_scheduler_plugin_over_budget",
    "Number of sampled calls in which a plugin took longer than it may.",
    ["plugin", "extension_point"],
)
REFUSED = Gauge(
    "custom_scheduler_configuration_refused",
    "1 while the scheduler's configuration or a plugin source as it stands is refused and what ran before goes on, else 0.",
    multiprocess_mode="livemax",
)
SUSPENDED = Gauge(
    "custom_scheduler_plugin_suspended",
    "1 while the plugin is left out because it failed again and again, else 0.",
    ["plugin"],
    multiprocess_mode="livemax",
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one plugin: sampled calls and the seconds that they took, those over budget, and failed attempts."""

    calls: int = 0
    seconds: float = 0.0
    over_budget: int = 0
    failures: int = 0


def usage() -> dict[str, Usage]:
    """Return what has been counted in this process, by plugin."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    wanted = {
        "scheduler_plugin_execution_duration_seconds_count": "calls",
        "scheduler_plugin_execution_duration_seconds_sum": "seconds",
        "custom_scheduler_plugin_over_budget_total": "over_budget",
        "custom_scheduler_plugin_failures_total": "failures",
    }
    for metric in (*PLUGIN_DURATION.collect(), *OVER_BUDGET.collect(), *FAILURES.collect()):
        for sample in metric.samples:
            if (name := wanted.get(sample.name)) is not None:
                counts = found[sample.labels["plugin"]]
                counts[name] = counts.get(name, 0) + sample.value
    return {
        plugin: Usage(
            calls=int(counts.get("calls", 0)),
            seconds=counts.get("seconds", 0.0),
            over_budget=int(counts.get("over_budget", 0)),
            failures=int(counts.get("failures", 0)),
        )
        for plugin, counts in found.items()
    }
