"""The pods that wait for a node: ready, backing off, unschedulable or gated.

The rules are kube-scheduler's (pkg/scheduler/backend/queue). One thread owns a queue; it has no clock of its own.
"""

from __future__ import annotations

import enum
import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from webhook.scheduling.events import ClusterEvent
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Pod

__all__ = ["Place", "QueuedPod", "SchedulingQueue"]

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 10.0
FLUSH_AFTER_SECONDS = 300.0
SWEEP_SECONDS = 30.0
_LEFTOVERS = 64


class Place(enum.Enum):
    """Where a pod waits; the values are those of the label `queue` of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod on its way to a node."""

    pod: Pod
    queued_at: float
    place: Place = Place.IN_FLIGHT
    # Attempts so far, the one under way too.
    attempts: int = 0
    first_attempt_at: float | None = None
    # How often it was rejected, and how often in a row something failed: each has its own backoff.
    rejections: int = 0
    errors: int = 0
    rejected_by: frozenset[str] = frozenset()
    flushed: bool = False
    # It was updated while it was in flight.
    outdated: bool = False
    # What an entry of a heap must carry to be more than a leftover.
    ticket: int = 0
    popped_at_event: int = field(default=0, repr=False)


# Expiry or sort key, then the ticket, which never ties.
_Entry = tuple[tuple[float, ...], int, QueuedPod]


class SchedulingQueue:
    """Pods by uid. `frameworks` holds one framework per schedulerName and decides on gates, order and waking."""

    def __init__(self, frameworks: Mapping[str, Framework], clock: Callable[[], float]) -> None:
        self._frameworks = frameworks
        self._clock = clock
        self._pods: dict[str, QueuedPod] = {}
        self._counts: Counter[Place] = Counter()
        self._tickets = 0
        self._sweep_at = clock()
        self._active: list[_Entry] = []
        self._backoff: list[_Entry] = []
        self._error_backoff: list[_Entry] = []
        # The unschedulable and the gated, by profile and rejecting plugins: an event is judged once for all alike.
        self._waiting: dict[tuple[str, frozenset[str]], dict[str, QueuedPod]] = {}
        # When each kind of event last happened, counted in events: what a pod in flight has missed.
        self._events = 0
        self._last: dict[ClusterEvent, int] = {}

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
        self._counts[queued.place] += 1
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
        elif _asks_for(old) != _asks_for(pod):
            if queued.place is Place.UNSCHEDULABLE:
                self._wake(queued)
            queued.outdated = queued.place is Place.IN_FLIGHT

    def remove(self, uid: str) -> None:
        """Drop a pod, wherever it is: it has a node, or is gone."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)
            self._counts[queued.place] -= 1

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
        queued.popped_at_event = self._events
        queued.outdated = False
        if queued.first_attempt_at is None:
            queued.first_attempt_at = now
        return queued

    def reject(self, queued: QueuedPod, rejected_by: frozenset[str]) -> None:
        """Put back a pod for which no node was found; does nothing if it was removed meanwhile.

        It waits for an event that concerns the plugins in `rejected_by` (none: any event), unless one happened
        during the attempt.
        """
        if not self.holds(queued):
            return
        queued.rejections += 1
        queued.errors = 0
        queued.rejected_by = rejected_by
        queued.queued_at = self._clock()
        if queued.outdated or self._missed_an_event(queued):
            self._wake(queued)
            return
        self._wait(queued, Place.UNSCHEDULABLE, rejected_by)

    def retry_later(self, queued: QueuedPod) -> None:
        """Put back a pod whose attempt failed for reasons that aren't the pod's; nothing wakes it early."""
        if not self.holds(queued):
            return
        queued.errors += 1
        queued.queued_at = self._clock()
        self._push(self._error_backoff, queued, Place.ERROR_BACKOFF, (_backoff_end(queued, queued.errors),))

    def put_back(self, queued: QueuedPod) -> None:
        """Put back a pod whose attempt was given up before it came to anything."""
        if self.holds(queued):
            self._activate(queued)

    def wake(self, event: ClusterEvent, *, but: QueuedPod | None = None) -> None:
        """Wake the unschedulable pods that the event may help, and look again at gated ones that it concerns.

        `but` is the pod that caused the event, which can't help itself.
        """
        self._events += 1
        self._last[event] = self._events
        for (profile, rejected_by), group in list(self._waiting.items()):
            if self._frameworks[profile].is_woken_by(rejected_by, event):
                for queued in list(group.values()):
                    if queued.place is Place.GATED:
                        self._admit(queued)
                    elif queued is not but:
                        self._wake(queued)

    def flush(self) -> None:
        """Activate the pods whose backoff is over, and those that have been unschedulable for five minutes."""
        now = self._clock()
        for heap in (self._backoff, self._error_backoff):
            while (queued := _first(heap)) is not None and heap[0][0][0] <= now:
                self._activate(queued)
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_SECONDS
        for group in list(self._waiting.values()):
            for queued in list(group.values()):
                if queued.place is Place.UNSCHEDULABLE and now - queued.queued_at > FLUSH_AFTER_SECONDS:
                    queued.flushed = True
                    self._wake(queued)

    def next_flush(self) -> float | None:
        """Return the clock's time at which the next backoff ends, None if no pod backs off."""
        ends = [heap[0][0][0] for heap in (self._backoff, self._error_backoff) if _first(heap) is not None]
        return min(ends, default=None)

    def _admit(self, queued: QueuedPod) -> None:
        status = self._framework(queued).pre_enqueue(queued.pod)
        if status.is_success:
            queued.queued_at = self._clock()
            self._activate(queued)
        else:
            self._wait(queued, Place.GATED, frozenset({status.plugin}))

    def _wake(self, queued: QueuedPod) -> None:
        end = _backoff_end(queued, queued.rejections)
        if end > self._clock():
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
        self._counts[queued.place] -= 1
        self._counts[place] += 1
        queued.place = place

    def _leave(self, queued: QueuedPod) -> None:
        """Make leftovers of the pod's entries."""
        self._tickets += 1
        queued.ticket = self._tickets
        if queued.place in (Place.UNSCHEDULABLE, Place.GATED):
            group = self._waiting[_group(queued)]
            del group[queued.pod.metadata.uid]
            if not group:
                del self._waiting[_group(queued)]

    def _missed_an_event(self, queued: QueuedPod) -> bool:
        framework = self._framework(queued)
        return any(
            when > queued.popped_at_event and framework.is_woken_by(queued.rejected_by, event)
            for event, when in self._last.items()
        )

    def _framework(self, queued: QueuedPod) -> Framework:
        return self._frameworks[queued.pod.spec.scheduler_name]


def _first(heap: list[_Entry]) -> QueuedPod | None:
    """Return the pod at the top of a heap, after dropping leftovers; it stays there until it is moved."""
    while heap and heap[0][1] != heap[0][2].ticket:
        heapq.heappop(heap)
    return heap[0][2] if heap else None


def _group(queued: QueuedPod) -> tuple[str, frozenset[str]]:
    return (queued.pod.spec.scheduler_name, queued.rejected_by)


def _backoff_end(queued: QueuedPod, failures: int) -> float:
    if failures == 0:
        return queued.queued_at
    return queued.queued_at + min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** (failures - 1))


def _asks_for(pod: Pod) -> tuple[object, ...]:
    return (pod.spec, pod.metadata.labels, pod.metadata.annotations)
