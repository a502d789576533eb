"""From the choice of a node to the binding: what is under way, as the scheduling thread sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol

from webhook.binder.binding import Binding, BindResult, Outcome
from webhook.binder.failures import FailureHandler
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import QueuedPod
from webhook.binder.reporter import Reporter
from webhook.kube.informer import Change
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.outcome import Placement
from webhook.scheduling.status import Code, Status
from webhook.scheduling.waiting_pods import WaitingPod

__all__ = ["Binder", "BindingCycles"]

_CAPACITY_FREED = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)


class Binder(Protocol):
    """Takes placements and later reports each, from another thread."""

    def submit(self, binding: Binding) -> None:
        """Have a pod bound soon."""


class Judge(Protocol):
    """Counts what plugins do wrong."""

    def __call__(self, framework: Framework, step: str, /, *answers: Status) -> None:
        """Take in what the plugins answered as one more pod came to this step."""


class BindingCycles:
    """Pods that are assumed: some wait at Permit, the others are with the binder.

    The scheduling thread calls it. `tell` takes, from any thread, what that thread shall call. `judge` hears of each
    step on the way.
    """

    def __init__(
        self,
        *,
        cache: Cache,
        queue: SchedulingQueue,
        binder: Binder,
        reporter: Reporter,
        failures: FailureHandler,
        judge: Judge,
        clock: Callable[[], float],
        tell: Callable[[Callable[[], None]], None],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._binder = binder
        self._reporter = reporter
        self._failures = failures
        self._judge = judge
        self._clock = clock
        self._tell = tell
        # By uid.
        self._waiting: dict[str, Binding] = {}
        self._in_flight: dict[str, Binding] = {}

    @property
    def in_flight(self) -> int:
        """How many bindings the binder hasn't reported yet; those that wait at Permit aren't with it."""
        return len(self._in_flight)

    def frameworks(self) -> set[Framework]:
        """Return those that pods on their way began with, and go on with whatever has replaced them."""
        return {binding.framework for binding in (*self._waiting.values(), *self._in_flight.values())}

    def begin(self, queued: QueuedPod, placement: Placement, framework: Framework, started_at: float) -> None:
        """Assume the pod on its node, ask the plugins, and have it bound at once or after it has waited."""
        pod, node_name = queued.pod, placement.node_name
        self._cache.assume(pod, node_name)
        status = framework.reserve(pod, node_name)
        self._judge(framework, "reserve", status)
        binding = Binding(queued, pod, node_name, placement.node_uid, framework, started_at)
        if status.is_success:
            status, waits = framework.permit(pod, node_name)
            self._judge(framework, "permit", status)
            if status.code is Code.WAIT:
                self._wait(binding, waits)
                return
            if not status.is_success:
                framework.unreserve(pod, node_name)
        if status.is_success:
            self._submit(binding)
        else:
            self._cache.forget(pod)
            self._failures.refused(queued, status, started_at)

    def take_result(self, result: BindResult) -> None:
        """Take in how a binding has ended."""
        binding, queued = result.binding, result.binding.queued
        self._in_flight.pop(binding.pod.metadata.uid, None)
        if result.outcome is not Outcome.ABANDONED:
            self._judge(binding.framework, "bind", result.status)
        if result.outcome is Outcome.BOUND:
            self._judge(binding.framework, "post_bind", *result.afterwards)
            self._queue.remove(binding.pod.metadata.uid)
            self._reporter.bound(binding)
            return
        freed = self._undo(binding)
        if result.outcome in (Outcome.GONE, Outcome.TAKEN):
            self._reporter.lost(binding, result.status.message)
            self._queue.remove(binding.pod.metadata.uid)
        elif result.outcome is Outcome.REFUSED and self._queue.holds(queued):
            self._failures.refused_late(queued, result.status, binding.started_at)
        elif self._queue.holds(queued):
            self._queue.put_back(queued)
        if freed:
            self._queue.wake(_CAPACITY_FREED, binding.pod, None, but=queued)

    def pod_changed(self, change: Change[Pod]) -> None:
        """Give up the binding of a pod that has gone, or has its node from somebody else; cache and queue know already."""
        known, new = change.new or change.old, change.new
        uid = "" if known is None else known.metadata.uid
        if (binding := self._in_flight.get(uid)) is not None:
            if not (new is None or new.spec.node_name not in ("", binding.node_name)):
                return
            binding.cancelled = True
        elif (binding := self._waiting.get(uid)) is not None:
            if not (new is None or new.is_terminating or new.is_terminal or new.spec.node_name):
                return
            self._end_waiting(binding)
            self._undo(binding)
            self._reporter.lost(
                binding, "it was deleted, has ended or got its node from others while it waited"
            )
            self._queue.remove(uid)
        else:
            return
        # The cache has given its room back, which was no placed pod's and so is no event yet.
        self._queue.wake(_CAPACITY_FREED, binding.pod, None)

    def node_changed(self, change: Change[Node]) -> None:
        """Give up the bindings to a node that has gone.

        The API server doesn't look whether the node exists, and one of the same name is another one.
        """
        if change.new is not None or change.old is None:
            return
        gone = change.old.metadata.uid
        for binding in self._in_flight.values():
            if binding.node_uid == gone:
                binding.cancelled = True
        for binding in [each for each in self._waiting.values() if each.node_uid == gone]:
            self._put_back(binding)

    def give_up_waiting(self) -> None:
        """Put back all pods that wait at Permit: this replica may bind none of them any more."""
        for binding in list(self._waiting.values()):
            self._put_back(binding)

    def give_up_waiting_for(self, plugins: Mapping[str, Collection[str]]) -> None:
        """Put back the pods that wait for one of these plugins, by profile: nobody else would let them go on."""
        for binding in list(self._waiting.values()):
            gone = plugins.get(binding.pod.spec.scheduler_name, ())
            waiting = self._cache.waiting_pods.get(binding.pod.metadata.uid)
            if waiting is not None and any(name in gone for name in waiting.pending_plugins):
                self._put_back(binding)

    def _wait(self, binding: Binding, waits: Mapping[str, float]) -> None:
        self._waiting[binding.pod.metadata.uid] = binding
        waiting = WaitingPod(
            binding.pod,
            binding.node_name,
            waits,
            now=self._clock(),
            decided=lambda status: self._tell(partial(self._take_verdict, binding, waiting, status)),
        )
        self._cache.waiting_pods.add(waiting)

    def _take_verdict(self, binding: Binding, waiting: WaitingPod, status: Status) -> None:
        """Take in that a pod has been allowed or rejected, unless it has been given up meanwhile."""
        if self._waiting.get(binding.pod.metadata.uid) is not binding:
            return
        self._end_waiting(binding)
        self._reporter.waited(status, self._clock() - waiting.since)
        if status.is_success:
            self._submit(binding)
            return
        self._undo(binding)
        if self._queue.holds(binding.queued):
            self._failures.refused(binding.queued, status, binding.started_at)
        self._queue.wake(_CAPACITY_FREED, binding.pod, None, but=binding.queued)

    def _submit(self, binding: Binding) -> None:
        self._in_flight[binding.pod.metadata.uid] = binding
        self._binder.submit(binding)

    def _put_back(self, binding: Binding) -> None:
        self._end_waiting(binding)
        self._undo(binding)
        self._queue.put_back(binding.queued)
        self._queue.wake(_CAPACITY_FREED, binding.pod, None, but=binding.queued)

    def _end_waiting(self, binding: Binding) -> None:
        uid = binding.pod.metadata.uid
        del self._waiting[uid]
        self._cache.waiting_pods.remove(uid)

    def _undo(self, binding: Binding) -> bool:
        """Take the reservation and the assumption back; returns whether the latter stood."""
        binding.framework.unreserve(binding.pod, binding.node_name)
        freed = self._cache.is_assumed(binding.pod.metadata.uid)
        self._cache.forget(binding.pod)
        return freed
