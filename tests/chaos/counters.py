"""What the API server itself counts of calls to webhooks that went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

__all__ = ["Counters", "read_counters"]

# k8s.io/apiserver pkg/admission/metrics
_FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
_REJECTIONS = "apiserver_admission_webhook_rejection_count"


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Calls that failed and were let through, and calls that failed and were refused."""

    fail_open: int
    failed_closed: int

    def __sub__(self, before: Counters) -> Counters:
        return Counters(
            fail_open=self.fail_open - before.fail_open,
            failed_closed=self.failed_closed - before.failed_closed,
        )


def read_counters(exposition: str) -> Counters:
    """Return the counters from the text of the API server's /metrics; what never happened isn't in there."""
    fail_open = failed_closed = 0.0
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            name = sample.name.removesuffix("_total")
            if name == _FAIL_OPEN:
                fail_open += sample.value
            if name == _REJECTIONS and sample.labels["error_type"] != "no_error":
                failed_closed += sample.value
    return Counters(fail_open=int(fail_open), failed_closed=int(failed_closed))
