"""When each alert has to fire, and when not."""

from __future__ import annotations

from dataclasses import dataclass

from tests.promql.engine import Series
from tests.promql.made_up import NOW, born, flat, growing, latencies, series

__all__ = ["FIRING", "SILENT", "Case"]

DAY, HOUR = 86_400.0, 3_600.0

DENY_PODS = {"name": "deny.pods.custom-scheduler.io", "type": "validating", "instance": "api-1"}
OTHERS = {"name": "validate.example.com", "type": "validating", "instance": "api-1"}
OURS = {"job": "custom-scheduler", "namespace": "custom-scheduler"}
THEIRS = {"job": "kube-scheduler", "namespace": "kube-system"}

FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
REJECTION = "apiserver_admission_webhook_rejection_count"
DURATION = "apiserver_admission_webhook_admission_duration_seconds_bucket"
READY = "custom_scheduler_ready"
GENERATION = "custom_scheduler_policy_generation"
REFUSED = "custom_scheduler_policy_refused"
CONFIGURATION = "custom_scheduler_configuration_refused"
SUSPENDED = "custom_scheduler_plugin_suspended"
REQUESTS = "custom_scheduler_admission_requests_total"
CERTIFICATE = "custom_scheduler_certificate_refused"
EXPIRY = "custom_scheduler_certificate_expiry_timestamp_seconds"
LEADER = "leader_election_master_status"
PENDING = "scheduler_pending_pods"
ATTEMPTS = "scheduler_schedule_attempts_total"


@dataclass(frozen=True)
class Case:
    alert: str
    what: str
    series: list[Series]


SOMETHING = flat("up", 1)
FIRING = [
    Case("CustomSchedulerFailedOpen", "the counter moves", [growing(FAIL_OPEN, 1, **DENY_PODS)]),
    Case("CustomSchedulerFailedOpen", "the first call ever that failed open", [born(FAIL_OPEN, **DENY_PODS)]),
    Case(
        "CustomSchedulerCallsFail",
        "calls fail with failurePolicy Fail",
        [growing(REJECTION, 2, **DENY_PODS, error_type="calling_webhook_error", operation="CREATE")],
    ),
    Case(
        "CustomSchedulerCallsFail",
        "the first call ever that was refused",
        [born(REJECTION, **DENY_PODS, error_type="apiserver_internal_error", operation="CREATE")],
    ),
    Case(
        "CustomSchedulerCallsSlow",
        "two in a hundred take two seconds",
        latencies(DURATION, 2, 30, **DENY_PODS),
    ),
    Case("CustomSchedulerNoReplicaReady", "nothing can be scraped", [SOMETHING]),
    Case(
        "CustomSchedulerNoReplicaReady",
        "only a binder is ready",
        [
            series(READY, 1, 0, **OURS, component="webhook", pod="a"),
            flat(READY, 1, **OURS, component="binder", pod="b"),
        ],
    ),
    Case(
        "CustomSchedulerReplicaNotReady",
        "one of two is not",
        [
            series(READY, 1, [0.0] * 17, **OURS, component="webhook", pod="a"),
            flat(READY, 1, **OURS, component="webhook", pod="b"),
        ],
    ),
    Case(
        "CustomSchedulerPolicyDisagreement",
        "two policies",
        [flat(GENERATION, 1.0, **OURS, pod="a"), series(GENERATION, 1, [2.0] * 7, **OURS, pod="b")],
    ),
    Case("CustomSchedulerPolicyRefused", "a bad file", [series(REFUSED, 0, [1.0] * 3, **OURS, pod="a")]),
    Case(
        "CustomSchedulerAdmissionErrors",
        "errors come",
        [growing(REQUESTS, 1, **OURS, pod="a", webhook="/validate", operation="CREATE", verdict="error")],
    ),
    Case(
        "CustomSchedulerAdmissionErrors",
        "the first error ever",
        [born(REQUESTS, **OURS, pod="a", webhook="/validate", operation="", verdict="error")],
    ),
    Case(
        "CustomSchedulerCertificateRefused",
        "a key of another certificate",
        [series(CERTIFICATE, 0, [1.0] * 12, **OURS, pod="a")],
    ),
    Case(
        "CustomSchedulerCertificateExpiresSoon",
        "a CA with 29 days",
        [flat(EXPIRY, NOW + 29 * DAY, **OURS, pod="a", role="ca")],
    ),
    Case(
        "CustomSchedulerCertificateExpiresSoon",
        "a leaf with 35 hours",
        [flat(EXPIRY, NOW + 35 * HOUR, **OURS, pod="a", role="leaf")],
    ),
    Case(
        "CustomSchedulerCertificateExpires",
        "a leaf with 11 hours",
        [flat(EXPIRY, NOW + 11 * HOUR, **OURS, pod="a", role="leaf")],
    ),
    Case(
        "CustomSchedulerNoLeader",
        "none of two leads, but others do, and by other Leases",
        [
            series(LEADER, 1, 0, **OURS, pod="a", name="custom-scheduler"),
            flat(LEADER, 0, **OURS, pod="b", name="custom-scheduler"),
            flat(LEADER, 1, **THEIRS, name="custom-scheduler"),
            flat(LEADER, 1, **OURS, pod="a", name="another"),
        ],
    ),
    Case("CustomSchedulerNoLeader", "nothing can be scraped", [SOMETHING]),
    Case(
        "CustomSchedulerQueueStuck",
        "attempts have stopped, but not kube-scheduler's",
        [
            flat(PENDING, 3, **OURS, pod="a", queue="active"),
            flat(ATTEMPTS, 9, **OURS, pod="a", result="scheduled", profile="custom-scheduler"),
            growing(ATTEMPTS, 80, **THEIRS, result="scheduled", profile="default-scheduler"),
        ],
    ),
    Case("CustomSchedulerQueueStuck", "no attempt ever", [flat(PENDING, 3, **OURS, pod="a", queue="active")]),
    Case(
        "CustomSchedulerPodsPending",
        "a pod fits nowhere for 40 minutes",
        [series(PENDING, 0, [1.0] * 40, **OURS, pod="a", queue="unschedulable")],
    ),
    Case(
        "CustomSchedulerSchedulingErrors",
        "attempts fail",
        [growing(ATTEMPTS, 2, **OURS, pod="a", result="error", profile="custom-scheduler")],
    ),
    Case(
        "CustomSchedulerSchedulingErrors",
        "the first attempt ever that failed",
        [born(ATTEMPTS, **OURS, pod="a", result="error", profile="custom-scheduler")],
    ),
    Case(
        "CustomSchedulerConfigurationRefused",
        "a bad file",
        [series(CONFIGURATION, 0, [1.0] * 3, **OURS, pod="a"), flat(CONFIGURATION, 0, **OURS, pod="b")],
    ),
    Case(
        "CustomSchedulerPluginSuspended",
        "one of two",
        [
            series(SUSPENDED, 0, [1.0], **OURS, pod="a", plugin="Acme"),
            flat(SUSPENDED, 0, **OURS, pod="a", plugin="Calm"),
        ],
    ),
]

SILENT = [
    Case("CustomSchedulerFailedOpen", "it moved an hour ago", [series(FAIL_OPEN, 7, 8, **DENY_PODS)]),
    Case("CustomSchedulerFailedOpen", "another webhook's moves", [growing(FAIL_OPEN, 5, **OTHERS)]),
    Case(
        "CustomSchedulerFailedOpen",
        "the API server restarts",
        [series(FAIL_OPEN, 7, [0.0, 0.0, 0.0], **DENY_PODS)],
    ),
    Case(
        "CustomSchedulerCallsFail",
        "the policy denies",
        [growing(REJECTION, 9, **DENY_PODS, error_type="no_error", operation="CREATE")],
    ),
    Case(
        "CustomSchedulerCallsFail",
        "another webhook's calls fail",
        [growing(REJECTION, 9, **OTHERS, error_type="calling_webhook_error", operation="CREATE")],
    ),
    Case("CustomSchedulerCallsSlow", "all are quick", latencies(DURATION, 0, 30, **DENY_PODS)),
    Case("CustomSchedulerCallsSlow", "slow for two minutes", latencies(DURATION, 3, 2, **DENY_PODS)),
    Case("CustomSchedulerCallsSlow", "another webhook is slow", latencies(DURATION, 3, 30, **OTHERS)),
    Case(
        "CustomSchedulerNoReplicaReady",
        "one of two is",
        [
            flat(READY, 0, **OURS, component="webhook", pod="a"),
            flat(READY, 1, **OURS, component="webhook", pod="b"),
        ],
    ),
    Case(
        "CustomSchedulerNoReplicaReady",
        "a minute of a restart",
        [series(READY, 1, [0.0, 0.0], **OURS, component="webhook", pod="a")],
    ),
    Case(
        "CustomSchedulerReplicaNotReady",
        "ten minutes",
        [series(READY, 1, [0.0] * 10, **OURS, component="binder", pod="a")],
    ),
    Case(
        "CustomSchedulerPolicyDisagreement",
        "one is three minutes ahead",
        [
            series(GENERATION, 1, [2.0] * 3, **OURS, pod="a"),
            flat(GENERATION, 1.0, **OURS, pod="b"),
        ],
    ),
    Case(
        "CustomSchedulerPolicyDisagreement",
        "two installations with a policy each",
        [flat(GENERATION, 1.0, **OURS, pod="a"), flat(GENERATION, 2.0, namespace="another", pod="b")],
    ),
    Case(
        "CustomSchedulerPolicyRefused",
        "mended",
        [series(REFUSED, 0, [1.0] * 9 + [0.0], **OURS, pod="a")],
    ),
    Case("CustomSchedulerPolicyRefused", "an editor writes", [series(REFUSED, 0, [1.0], **OURS, pod="a")]),
    Case(
        "CustomSchedulerAdmissionErrors",
        "denials are none",
        [growing(REQUESTS, 9, **OURS, pod="a", webhook="/validate", operation="CREATE", verdict="deny")],
    ),
    Case(
        "CustomSchedulerCertificateRefused",
        "half written for a moment",
        [series(CERTIFICATE, 0, [1.0, 1.0], **OURS, pod="a")],
    ),
    Case(
        "CustomSchedulerCertificateExpiresSoon",
        "a CA whose successor is on its way, and a leaf renewed in time",
        [
            flat(EXPIRY, NOW + 45 * DAY, **OURS, pod="a", role="ca"),
            flat(EXPIRY, NOW + 55 * HOUR, **OURS, pod="a", role="leaf"),
        ],
    ),
    Case(
        "CustomSchedulerCertificateExpiresSoon",
        "ten minutes of a rotation",
        [series(EXPIRY, NOW + 90 * DAY, [NOW + 29 * DAY] * 10, **OURS, pod="a", role="ca")],
    ),
    Case(
        "CustomSchedulerCertificateExpires",
        "a leaf with 13 hours",
        [flat(EXPIRY, NOW + 13 * HOUR, **OURS, pod="a", role="leaf")],
    ),
    Case(
        "CustomSchedulerNoLeader",
        "one of two leads",
        [
            flat(LEADER, 1, **OURS, pod="a", name="custom-scheduler"),
            flat(LEADER, 0, **OURS, pod="b", name="custom-scheduler"),
        ],
    ),
    Case(
        "CustomSchedulerNoLeader",
        "a minute of a takeover",
        [series(LEADER, 1, [0.0, 0.0], **OURS, pod="a", name="custom-scheduler")],
    ),
    Case(
        "CustomSchedulerQueueStuck",
        "pods are tried one after the other",
        [
            flat(PENDING, 3, **OURS, pod="a", queue="active"),
            growing(ATTEMPTS, 80, **OURS, pod="a", result="unschedulable", profile="custom-scheduler"),
        ],
    ),
    Case(
        "CustomSchedulerQueueStuck",
        "seven minutes without an attempt",
        [
            flat(PENDING, 3, **OURS, pod="a", queue="active"),
            series(ATTEMPTS, 7, [*range(8, 78), *[78.0] * 7], **OURS, pod="a", result="scheduled"),
        ],
    ),
    Case(
        "CustomSchedulerQueueStuck",
        "all that wait fit nowhere",
        [flat(PENDING, 3, **OURS, pod="a", queue="unschedulable")],
    ),
    Case(
        "CustomSchedulerQueueStuck",
        "kube-scheduler's queue",
        [flat(PENDING, 3, **THEIRS, queue="active")],
    ),
    Case(
        "CustomSchedulerPodsPending",
        "20 minutes",
        [series(PENDING, 0, [1.0] * 20, **OURS, pod="a", queue="unschedulable")],
    ),
    Case(
        "CustomSchedulerPodsPending", "kube-scheduler's", [flat(PENDING, 1, **THEIRS, queue="unschedulable")]
    ),
    Case("CustomSchedulerPodsPending", "gated", [flat(PENDING, 1, **OURS, pod="a", queue="gated")]),
    Case(
        "CustomSchedulerSchedulingErrors",
        "pods that fit nowhere are none",
        [growing(ATTEMPTS, 9, **OURS, pod="a", result="unschedulable", profile="custom-scheduler")],
    ),
    Case(
        "CustomSchedulerSchedulingErrors",
        "kube-scheduler's",
        [growing(ATTEMPTS, 9, **THEIRS, result="error", profile="default-scheduler")],
    ),
    Case(
        "CustomSchedulerConfigurationRefused",
        "an editor writes",
        [series(CONFIGURATION, 0, [1.0], **OURS, pod="a")],
    ),
    Case(
        "CustomSchedulerPluginSuspended",
        "mended",
        [series(SUSPENDED, 1, [0.0], **OURS, pod="a", plugin="Acme")],
    ),
]
