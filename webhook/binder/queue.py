"""The pods that wait for a node: ready, backing off, unschedulable or gated.

The rules are kube-scheduler's (pkg/scheduler/backend/queue). One thread owns a queue; it has no clock of its own.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Mapping

from webhook.binder.in_flight_events import InFlightEvents
from webhook.binder.queued_pod import Place, QueuedPod
from webhook.scheduling.events import ClusterEvent, Happening, target_pod_event
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Pod
from webhook.scheduling.queueing_hints import QueueingStrategy
from webhook.scheduling.status import Code, Status

__all__ = ["SchedulingQueue"]

FLUSH_AFTER_SECONDS = 300.0
SWEEP_SECONDS = 30.0
_LEFTOVERS = 64


# Expiry or sort key, then the ticket, which never ties.
_Entry = tuple[tuple[float, ...], int, QueuedPod]


class SchedulingQueue:
    """Pods by uid. `frameworks` holds one framework per schedulerName and decides on gates, order and waking.

    `answered` hears what it said of each pod's gates. Where a plugin has failed to say, it is asked again later.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        clock: Callable[[], float],
        answered: Callable[[QueuedPod, Status], None] = lambda _queued, _status: None,
    ) -> None:
        self._frameworks = frameworks
        self._clock = clock
        self._answered = answered
        self._pods: dict[str, QueuedPod] = {}
        self._counts: Counter[Place] = Counter()
        self._tickets = 0
        self._sweep_at = clock()
        self._active: list[_Entry] = []
        self._backoff: list[_Entry] = []
        self._error_backoff: list[_Entry] = []
        # The unschedulable and the gated, by profile and rejecting plugins: an event is judged once for all alike.
        self._waiting: dict[tuple[str, frozenset[str]], dict[str, QueuedPod]] = {}
        # In the order in which they were popped.
        self._in_flight: OrderedDict[QueuedPod, None] = OrderedDict()
        self._events = InFlightEvents()

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def holds(self, queued: QueuedPod) -> bool:
        """Tell whether this very pod is still wanted: not removed, nor made anew."""
        return self._pods.get(queued.pod.metadata.uid) is queued

    def count(self, place: Place) -> int:
        """Return how many pods wait there."""
        return self._counts[place]

    def waiting_for(self) -> Counter[tuple[str, str]]:
        """Count the unschedulable and the gated by plugin that rejected them and profile: once for each such plugin."""
        found: Counter[tuple[str, str]] = Counter()
        for (profile, rejected_by), group in self._waiting.items():
            for plugin in rejected_by:
                found[plugin, profile] += len(group)
        return found

    def add(self, pod: Pod) -> None:
        """Take in a pod that has no node yet."""
        queued = QueuedPod(pod, self._clock())
        self._pods[pod.metadata.uid] = queued
        self._enter(queued, Place.IN_FLIGHT)
        self._admit(queued)

    def update(self, pod: Pod) -> None:
        """Take over a newer state of a pod, which may be what it was waiting for.

        A change of its status, as its condition, is not.
        """
        queued = self._pods[pod.metadata.uid]
        old, queued.pod = queued.pod, pod
        if queued.place is Place.GATED:
            self._admit(queued)
        elif queued.place is Place.ACTIVE:
            self._activate(queued)  # its priority may have changed
        elif (event := target_pod_event(old, pod)) is not None:
            happening = Happening(event, old, pod)
            if queued.place is Place.UNSCHEDULABLE:
                self._requeue(queued, self._strategy(queued, happening))
            elif queued.place is Place.IN_FLIGHT:
                self._events.add(happening)

    def remove(self, uid: str) -> None:
        """Drop a pod, wherever it is: it has a node, or is gone."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)

    def pop(self) -> QueuedPod | None:
        """Take the pod to try now, which is in flight until it is requeued or removed; None if none is due.

        With nothing active, a pod that backs off after a rejection comes earlier than its time; one that backs
        off after an error does not.
        """
        queued = _first(self._active) or _first(self._backoff)
        if queued is None:
            return None
        now = self._clock()
        self._move(queued, Place.IN_FLIGHT)
        queued.attempts += 1
        queued.popped_at = self._events.now
        if queued.first_attempt_at is None:
            queued.first_attempt_at = now
        return queued

    def reject(
        self, queued: QueuedPod, rejected_by: frozenset[str], pending_by: frozenset[str] = frozenset()
    ) -> None:
        """Put back a pod for which no node was found; does nothing if it was removed meanwhile.

        It waits for an event that helps against the plugins in `rejected_by` (none: any event), unless one happened
        during the attempt. One that helps against those in `pending_by` ends its backoff too.
        """
        if not self.holds(queued):
            return
        queued.rejections += 1
        queued.errors = 0
        queued.flushed = False
        queued.rejected_by, queued.pending_by = rejected_by, pending_by
        queued.queued_at = self._clock()
        strategy = self._missed(queued)
        self._wait(queued, Place.UNSCHEDULABLE, rejected_by)
        self._requeue(queued, strategy)

    def retry_later(self, queued: QueuedPod) -> None:
        """Put back a pod whose attempt failed for reasons that aren't the pod's; nothing wakes it early."""
        if not self.holds(queued):
            return
        queued.errors += 1
        queued.flushed = False
        queued.queued_at = self._clock()
        self._push(self._error_backoff, queued, Place.ERROR_BACKOFF, (queued.error_backoff_end,))

    def put_back(self, queued: QueuedPod) -> None:
        """Put back a pod whose attempt was given up before it came to anything."""
        if self.holds(queued):
            self._activate(queued)

    def wake(
        self, event: ClusterEvent, old: object | None, new: object | None, *, but: QueuedPod | None = None
    ) -> None:
        """Wake the unschedulable pods that the event may help, and look again at gated ones that it concerns.

        `old` and `new` are the object before and after it. `but` is the pod that caused the event, which can't help
        itself.
        """
        happening = Happening(event, old, new)
        if self._in_flight:
            self._events.add(happening)
        for (profile, rejected_by), group in list(self._waiting.items()):
            if not self._frameworks[profile].queueing_hints.concern(rejected_by, event):
                continue
            for queued in list(group.values()):
                strategy = self._strategy(queued, happening)
                if queued.place is Place.UNSCHEDULABLE and queued is not but:
                    self._requeue(queued, strategy)
                elif queued.place is Place.GATED and strategy is not QueueingStrategy.SKIP:
                    self._admit(queued)

    def reconsider(self, profiles: Container[str]) -> None:
        """Take in that these profiles have other plugins: in another order, other gates, and what was refused may fit."""
        for (profile, _), group in list(self._waiting.items()):
            if profile not in profiles:
                continue
            for queued in list(group.values()):
                if queued.place is Place.GATED:
                    self._admit(queued)
                else:
                    self._requeue(queued, QueueingStrategy.AFTER_BACKOFF)
        for _, ticket, queued in list(self._active):
            if ticket == queued.ticket and queued.pod.spec.scheduler_name in profiles:
                self._activate(queued)

    def flush(self) -> None:
        """Activate the pods whose backoff is over, and those that have been unschedulable for five minutes."""
        now = self._clock()
        for heap, enter in ((self._backoff, self._activate), (self._error_backoff, self._admit)):
            while (queued := _first(heap)) is not None and heap[0][0][0] <= now:
                enter(queued)
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_SECONDS
        for group in list(self._waiting.values()):
            for queued in list(group.values()):
                if queued.place is Place.UNSCHEDULABLE and now - queued.queued_at > FLUSH_AFTER_SECONDS:
                    queued.flushed = True
                    self._requeue(queued, QueueingStrategy.AFTER_BACKOFF)

    def next_flush(self) -> float | None:
        """Return the clock's time at which the next backoff ends, None if no pod backs off."""
        ends = [heap[0][0][0] for heap in (self._backoff, self._error_backoff) if _first(heap) is not None]
        return min(ends, default=None)

    def _admit(self, queued: QueuedPod) -> None:
        status = self._framework(queued).pre_enqueue(queued.pod)
        if status.is_success:
            if queued.place is Place.GATED:
                queued.queued_at = self._clock()
            self._activate(queued)
        elif status.code is Code.ERROR:
            self.retry_later(queued)
        else:
            self._wait(queued, Place.GATED, frozenset({status.plugin}))
        self._answered(queued, status)

    def _requeue(self, queued: QueuedPod, strategy: QueueingStrategy) -> None:
        if strategy is QueueingStrategy.SKIP:
            return
        end = queued.rejection_backoff_end
        if strategy is QueueingStrategy.AFTER_BACKOFF and end > self._clock():
            self._push(self._backoff, queued, Place.BACKOFF, (end,))
        else:
            self._activate(queued)

    def _activate(self, queued: QueuedPod) -> None:
        key = self._framework(queued).sort_key(queued.pod, queued.queued_at)
        self._push(self._active, queued, Place.ACTIVE, key)

    def _push(self, heap: list[_Entry], queued: QueuedPod, place: Place, key: tuple[float, ...]) -> None:
        self._move(queued, place)
        heapq.heappush(heap, (key, queued.ticket, queued))
        # Where pods are removed and never popped, as in a replica that doesn't lead, leftovers must not pile up.
        if len(heap) > 2 * self._counts[place] + _LEFTOVERS:
            heap[:] = [entry for entry in heap if entry[1] == entry[2].ticket]
            heapq.heapify(heap)

    def _wait(self, queued: QueuedPod, place: Place, rejected_by: frozenset[str]) -> None:
        self._move(queued, place)
        queued.rejected_by = rejected_by
        self._waiting.setdefault(_group(queued), {})[queued.pod.metadata.uid] = queued

    def _move(self, queued: QueuedPod, place: Place) -> None:
        self._leave(queued)
        self._enter(queued, place)

    def _enter(self, queued: QueuedPod, place: Place) -> None:
        self._counts[place] += 1
        queued.place = place
        if place is Place.IN_FLIGHT:
            self._in_flight[queued] = None

    def _leave(self, queued: QueuedPod) -> None:
        """Take the pod from its place, and make leftovers of its entries."""
        self._tickets += 1
        queued.ticket = self._tickets
        self._counts[queued.place] -= 1
        if queued.place in (Place.UNSCHEDULABLE, Place.GATED):
            group = self._waiting[_group(queued)]
            del group[queued.pod.metadata.uid]
            if not group:
                del self._waiting[_group(queued)]
        elif queued.place is Place.IN_FLIGHT:
            del self._in_flight[queued]
            oldest = next(iter(self._in_flight), None)
            self._events.forget_before(self._events.now if oldest is None else oldest.popped_at)

    def _missed(self, queued: QueuedPod) -> QueueingStrategy:
        """Return what the events during the attempt mean for a pod that was just rejected."""
        happenings = self._events.since(queued.popped_at)
        if happenings is None:
            # One of those that are forgotten may have been for it.
            return QueueingStrategy.AFTER_BACKOFF
        found = QueueingStrategy.SKIP
        for happening in happenings:
            strategy = self._strategy(queued, happening)
            if strategy is QueueingStrategy.IMMEDIATELY:
                return strategy
            if strategy is not QueueingStrategy.SKIP:
                found = strategy
        return found

    def _strategy(self, queued: QueuedPod, happening: Happening) -> QueueingStrategy:
        hints = self._framework(queued).queueing_hints
        return hints.strategy(queued.pod, queued.rejected_by, queued.pending_by, happening)

    def _framework(self, queued: QueuedPod) -> Framework:
        return self._frameworks[queued.pod.spec.scheduler_name]


def _first(heap: list[_Entry]) -> QueuedPod | None:
    """Return the pod at the top of a heap, after dropping leftovers; it stays there until it is moved."""
    while heap and heap[0][1] != heap[0][2].ticket:
        heapq.heappop(heap)
    return heap[0][2] if heap else None


def _group(queued: QueuedPod) -> tuple[str, frozenset[str]]:
    return (queued.pod.spec.scheduler_name, queued.rejected_by)
