from __future__ import annotations

from tests.chaos.counters import Counters, read_counters

# As kube-apiserver 1.37 writes them.
_METRICS = """\
# HELP apiserver_admission_webhook_fail_open_count [ALPHA] Admission webhook fail open count
# TYPE apiserver_admission_webhook_fail_open_count counter
apiserver_admission_webhook_fail_open_count{name="mutate.pods.custom-scheduler.io",type="admit"} 3
apiserver_admission_webhook_fail_open_count{name="warn.pods.custom-scheduler.io",type="validating"} 1
# HELP apiserver_admission_webhook_rejection_count [ALPHA] Admission webhook rejection count
# TYPE apiserver_admission_webhook_rejection_count counter
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="deny.pods.custom-scheduler.io",operation="CREATE",rejection_code="0",type="validating"} 5
apiserver_admission_webhook_rejection_count{error_type="no_error",name="deny.pods.custom-scheduler.io",operation="CREATE",rejection_code="403",type="validating"} 70
"""


def test_calls_that_failed_are_counted_and_denials_are_not() -> None:
    assert read_counters(_METRICS) == Counters(fail_open=4, failed_closed=5)


def test_what_never_happened_is_none() -> None:
    assert read_counters("") == Counters(fail_open=0, failed_closed=0)


def test_the_difference_is_what_happened_in_between() -> None:
    assert read_counters(_METRICS) - Counters(fail_open=1, failed_closed=5) == Counters(
        fail_open=3, failed_closed=0
    )
