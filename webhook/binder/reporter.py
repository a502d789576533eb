"""How attempts ended, told to everyone who asks: log, metrics, the pod's events and its condition."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from webhook.binder.binding import Binding
from webhook.binder.condition import ConditionWriter, NotScheduled
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import Place, QueuedPod
from webhook.kube.events import EventRecorder, Regarding
from webhook.observe import scheduling_metrics as metrics
from webhook.scheduling.cache import Cache
from webhook.scheduling.measurements import Measurements
from webhook.scheduling.messages import scheduled_message
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import Status

__all__ = ["Reporter"]

log = logging.getLogger("custom_scheduler.binder")

# The label `queue` of scheduler_pending_pods.
_PENDING = {
    "active": [Place.ACTIVE],
    "backoff": [Place.BACKOFF, Place.ERROR_BACKOFF],
    "unschedulable": [Place.UNSCHEDULABLE],
    "gated": [Place.GATED],
}


class Reporter:
    """Words and names are kube-scheduler's, in events, conditions and metrics."""

    def __init__(
        self, recorder: EventRecorder, conditions: ConditionWriter, clock: Callable[[], float]
    ) -> None:
        self._recorder = recorder
        self._conditions = conditions
        self._clock = clock
        self._waited_for: set[tuple[str, str]] = set()

    def bound(self, binding: Binding) -> None:
        """Tell that the pod has its node."""
        pod, queued, now = binding.pod, binding.queued, self._clock()
        log.info("Bound %s to %s", pod.key, binding.node_name)
        self._conditions.drop(pod.metadata.uid)
        self._record(pod, "Normal", "Scheduled", "Binding", scheduled_message(pod, binding.node_name))
        self._count("scheduled", pod, now - binding.started_at)
        metrics.SCHEDULING_ATTEMPTS.observe(queued.attempts)
        if queued.first_attempt_at is not None:
            label = metrics.attempts_label(queued.attempts)
            metrics.SLI_DURATION.labels(label).observe(now - queued.first_attempt_at)
        if queued.flushed:
            metrics.SCHEDULED_AFTER_FLUSH.inc()

    def unschedulable(self, queued: QueuedPod, outcome: NotScheduled, started_at: float) -> None:
        """Tell that no node is right for the pod now."""
        pod = queued.pod
        # Repeated attempts that come to the same are no news.
        level = logging.DEBUG if outcome.is_told_by(pod) else logging.INFO
        log.log(
            level,
            "No suitable node found for pod %s",
            pod.key,
            extra={"reason": outcome.reason, "detail": outcome.message},
        )
        self._count("unschedulable", pod, self._clock() - started_at)
        self._tell(pod, outcome)

    def failed(self, queued: QueuedPod, outcome: NotScheduled, started_at: float) -> None:
        """Tell that the attempt broke; the pod is not to blame."""
        pod = queued.pod
        log.error("Scheduling pod %s failed, retrying: %s", pod.key, outcome.message)
        self._count("error", pod, self._clock() - started_at)
        self._tell(pod, outcome)

    def lost(self, binding: Binding, message: str) -> None:
        """Log that the pod went its own way while we were binding it: nobody's fault, and nobody waits for word."""
        log.info("Pod %s was not bound to %s: %s", binding.pod.key, binding.node_name, message)
        self._conditions.drop(binding.pod.metadata.uid)

    def sizes(self, queue: SchedulingQueue | None, cache: Cache) -> None:
        """Set the gauges of what waits, where nothing does without a queue, and of what the cache holds."""
        for label, places in _PENDING.items():
            count = sum(map(queue.count, places)) if queue else 0
            metrics.PENDING_PODS.labels(label).set(count)
        waiting = queue.waiting_for() if queue else Counter[tuple[str, str]]()
        for key in self._waited_for - waiting.keys():
            metrics.UNSCHEDULABLE_PODS.labels(*key).set(0)
        for key, count in waiting.items():
            metrics.UNSCHEDULABLE_PODS.labels(*key).set(count)
        self._waited_for = set(waiting)
        for kind, count in (
            ("nodes", len(cache.table)),
            ("pods", cache.pod_count),
            ("assumed_pods", cache.assumed_count),
        ):
            metrics.CACHE_SIZE.labels(kind).set(count)

    def measured(self, profile: str, measurements: Measurements) -> None:
        """Take over what a profile's framework has measured."""
        measurements.fetch(
            lambda point, status, seconds: metrics.EXTENSION_POINT_DURATION.labels(
                point, status, profile
            ).observe(seconds),
            lambda plugin, point, number: metrics.PLUGIN_EVALUATIONS.labels(plugin, point, profile).inc(
                number
            ),
        )

    def waited(self, status: Status, seconds: float) -> None:
        """Tell how long a pod has waited at Permit, and how that ended."""
        metrics.PERMIT_WAIT_DURATION.labels(status.code.label).observe(seconds)

    def _tell(self, pod: Pod, outcome: NotScheduled) -> None:
        self._record(pod, "Warning", "FailedScheduling", "Scheduling", outcome.message)
        self._conditions.write(pod, outcome)

    def _record(self, pod: Pod, event_type: str, reason: str, action: str, note: str) -> None:
        meta = pod.metadata
        self._recorder.record(
            Regarding(
                api_version="v1",
                kind="Pod",
                name=meta.name,
                namespace=meta.namespace,
                uid=meta.uid,
                resource_version=meta.resource_version,
            ),
            controller=pod.spec.scheduler_name,
            event_type=event_type,
            reason=reason,
            action=action,
            note=note,
        )

    def _count(self, result: str, pod: Pod, seconds: float) -> None:
        profile = pod.spec.scheduler_name
        metrics.ATTEMPTS.labels(result, profile).inc()
        metrics.ATTEMPT_DURATION.labels(result, profile).observe(seconds)
