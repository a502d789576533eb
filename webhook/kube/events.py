"""Events in the cluster: what `kubectl describe` shows, written from a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

import msgspec

from webhook.errors import ClusterError
from webhook.kube.meta import micro_time
from webhook.kube.transport import KubeClient, ThrottledError

__all__ = ["EventRecorder", "Regarding"]

log = logging.getLogger("custom_scheduler.kube")

# Longer notes are refused (apis/events/validation); kube-scheduler cuts them in the same way.
NOTE_LENGTH = 1024
REPEAT_SECONDS = 300.0
_CAPACITY = 1000
_REMEMBERED = 4096


class Regarding(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str
    uid: str
    resource_version: str = ""


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`events.k8s.io/v1` Event."""

    metadata: dict[str, str]
    event_time: str
    type: str
    reason: str
    action: str
    note: str
    regarding: Regarding
    reporting_controller: str
    reporting_instance: str
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


class EventRecorder:
    """Writes events in the background, at most `capacity` of them waiting; never blocks or fails its caller.

    An event that says the same of the same object as one in the last five minutes is left out: the pod's
    condition has the present state, and an event costs as many requests as a binding. What can't be written
    is counted in `dropped`.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        instance: str,
        capacity: int = _CAPACITY,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.dropped = 0
        self._client = client.apart()
        self._instance = instance
        self._capacity = capacity
        self._clock = clock
        self._wall_clock = wall_clock
        self._told: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self._waiting: deque[_Event] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def record(
        self, regarding: Regarding, *, controller: str, event_type: str, reason: str, action: str, note: str
    ) -> None:
        """Have an event written soon; `event_type` is Normal or Warning."""
        now = self._wall_clock()
        event = _Event(
            metadata={
                "name": f"{regarding.name[:230]}.{int(now * 1e9):x}",
                "namespace": regarding.namespace,
            },
            event_time=micro_time(now),
            type=event_type,
            reason=reason,
            action=action,
            note=_cut(note),
            regarding=regarding,
            reporting_controller=controller,
            reporting_instance=f"{controller}-{self._instance}"[:128],
        )
        with self._changed:
            if self._closing or self._is_repeated(event):
                return
            if len(self._waiting) >= self._capacity:
                self._lose(event)
                return
            self._waiting.append(event)
            self._changed.notify()

    def close(self, timeout: float) -> None:
        """Write what is waiting, for at most `timeout` seconds, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        with self._changed:
            for event in self._waiting:
                self._lose(event)
            self._waiting.clear()
        self._client.close()
        self._thread.join()

    def _is_repeated(self, event: _Event) -> bool:
        key, now = _identity(event), self._clock()
        if now - self._told.get(key, float("-inf")) < REPEAT_SECONDS:
            return True
        self._told[key] = now
        self._told.move_to_end(key)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return False

    def _lose(self, event: _Event) -> None:
        self.dropped += 1
        self._told.pop(_identity(event), None)

    def _run(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._write(event)
            except ClusterError as error:
                with self._changed:
                    self._lose(event)
                self._failed(error)
            else:
                self._recovered()

    def _next(self) -> _Event | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return self._waiting.popleft() if self._waiting else None

    def _write(self, event: _Event) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{event.regarding.namespace}/events"
        body = msgspec.json.encode(event)
        try:
            self._client.request("POST", path, body=body)
        except ThrottledError as error:
            with self._changed:
                self._changed.wait_for(lambda: self._closing, error.retry_after or 1.0)
            self._client.request("POST", path, body=body)

    def _failed(self, error: ClusterError) -> None:
        if not self._failing:
            log.warning("events can't be written and are left out: %s", error)
        self._failing = True

    def _recovered(self) -> None:
        if self._failing:
            log.info("events are written again; %d were left out", self.dropped)
        self._failing = False


def _identity(event: _Event) -> tuple[str, ...]:
    return (event.regarding.uid, event.reporting_controller, event.reason, event.note)


def _cut(note: str) -> str:
    # It may quote a plugin, and half a surrogate pair has no UTF-8.
    raw = note.encode(errors="backslashreplace")
    if len(raw) > NOTE_LENGTH:
        raw = raw[: NOTE_LENGTH - 4] + b" ..."
    return raw.decode(errors="ignore")
