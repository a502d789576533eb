from __future__ import annotations

from webhook.observe import admission_metrics, scheduling_metrics
from webhook.observe.exposition import exposition


def test_counters_and_histograms_have_no_second_series_with_the_time_they_began() -> None:
    admission_metrics.REQUESTS.labels("/validate", "CREATE", "allow").inc()
    scheduling_metrics.ATTEMPT_DURATION.labels("scheduled", "custom-scheduler").observe(0.1)

    names = {line.split("{")[0].split(" ")[0] for line in exposition().decode().splitlines()}

    assert {
        "custom_scheduler_admission_requests_total",
        "scheduler_scheduling_attempt_duration_seconds_sum",
    } <= names
    assert not [name for name in names if name.endswith("_created")]
