"""Attempts that did not end in a binding: the pod goes back to the queue, and people are told why."""

from __future__ import annotations

from webhook.binder.condition import NotScheduled
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import QueuedPod
from webhook.binder.reporter import Reporter
from webhook.scheduling.messages import fit_error_message
from webhook.scheduling.outcome import FitError, Unsupported
from webhook.scheduling.status import Code, Status

__all__ = ["FailureHandler"]

_SCHEDULER_ERROR = "SchedulerError"


class FailureHandler:
    """What kube-scheduler's handleSchedulingFailure does. `started_at` is when the attempt began."""

    def __init__(self, queue: SchedulingQueue, reporter: Reporter) -> None:
        self._queue = queue
        self._reporter = reporter

    def no_node(self, queued: QueuedPod, decision: FitError | Unsupported, started_at: float) -> None:
        """Put back a pod for which there is no node."""
        nominated = decision.nominated_node if isinstance(decision, FitError) else ""
        outcome = NotScheduled(reason=decision.reason, message=decision.message, nominated_node=nominated)
        self._queue.reject(queued, decision.rejected_by, decision.pending_by)
        self._reporter.unschedulable(queued, outcome, started_at)

    def refused(self, queued: QueuedPod, status: Status, started_at: float) -> None:
        """Put back a pod, as a plugin had something against the node that was chosen, or failed."""
        if not status.code.is_rejection:
            self.broken(queued, status.message, started_at)
            return
        message = fit_error_message(all_nodes=1, reasons=dict.fromkeys(status.reasons, 1))
        rejected_by = frozenset(filter(None, (status.plugin,)))
        pending_by = rejected_by if status.code is Code.PENDING else frozenset[str]()
        self._queue.reject(queued, rejected_by, pending_by)
        self._reporter.unschedulable(
            queued, NotScheduled(reason="Unschedulable", message=message), started_at
        )

    def refused_late(self, queued: QueuedPod, status: Status, started_at: float) -> None:
        """Put back a pod that a plugin or the API server refused while it was being bound.

        It waits for no event: only what comes up to Permit decides whether a pod is unschedulable.
        """
        if not status.code.is_rejection:
            self.broken(queued, status.message, started_at)
            return
        self._queue.retry_later(queued)
        self._reporter.unschedulable(
            queued, NotScheduled(reason="Unschedulable", message=status.message), started_at
        )

    def not_admitted(self, queued: QueuedPod, status: Status, started_at: float) -> None:
        """Tell of a pod that the queue tries again, as a plugin failed when it came there."""
        self._reporter.failed(
            queued, NotScheduled(reason=_SCHEDULER_ERROR, message=status.message), started_at
        )

    def broken(self, queued: QueuedPod, message: str, started_at: float) -> None:
        """Put back a pod whose attempt broke, which is not the pod's fault."""
        self._queue.retry_later(queued)
        self._reporter.failed(queued, NotScheduled(reason=_SCHEDULER_ERROR, message=message), started_at)
