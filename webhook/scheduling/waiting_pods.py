"""Pods that have their node but must wait before they are bound, as a Permit plugin has asked.

Source: pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from webhook.scheduling.messages import go_duration
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status

__all__ = ["MAX_WAIT_SECONDS", "WaitingPod", "WaitingPods"]

# kube-scheduler's maxTimeout.
MAX_WAIT_SECONDS = 900.0


class WaitingPod:
    """A pod that goes on to be bound once each plugin that waits has allowed it, and goes back if one rejects it.

    All methods may be called from any thread. `waits` are the seconds that each plugin waits at most from `now` on.
    `decided` hears once how it ended.
    """

    def __init__(
        self,
        pod: Pod,
        node_name: str,
        waits: Mapping[str, float],
        *,
        now: float,
        decided: Callable[[Status], None],
    ) -> None:
        self.pod = pod
        self.node_name = node_name
        self._waits = dict(waits)
        self.since = now
        self._decided = decided
        self._lock = threading.Lock()
        self._done = False

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that haven't allowed it yet."""
        with self._lock:
            return tuple(self._waits)

    @property
    def expires_at(self) -> float | None:
        """When the first of them will have waited long enough, by the clock of `now`; None once it is decided."""
        with self._lock:
            return None if self._done else self.since + min(self._waits.values())

    def allow(self, plugin: str) -> None:
        """Let the pod go on, as far as this plugin is concerned."""
        with self._lock:
            self._waits.pop(plugin, None)
            if self._waits or self._done:
                return
            self._done = True
        self._decided(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        """Send the pod back as unschedulable; returns whether that was still possible."""
        with self._lock:
            if self._done:
                return False
            self._done = True
        self._decided(Status(Code.UNSCHEDULABLE, (message,), plugin))
        return True

    def expire(self, now: float) -> None:
        """Reject the pod in the name of a plugin that has waited long enough, if there is one."""
        with self._lock:
            if self._done:
                return
            plugin, wait = min(self._waits.items(), key=lambda item: item[1])
        if now >= self.since + wait:
            self.reject(
                plugin, f"rejected due to timeout after waiting {go_duration(wait)} at plugin {plugin}"
            )


class WaitingPods:
    """All of them, of all profiles, by uid. May be used from any thread."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[WaitingPod]:
        with self._lock:
            return iter(list(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with this uid."""
        with self._lock:
            return self._pods.get(uid)

    def add(self, waiting: WaitingPod) -> None:
        """Take in a pod."""
        with self._lock:
            self._pods[waiting.pod.metadata.uid] = waiting

    def remove(self, uid: str) -> None:
        """Drop a pod that waits no longer, if it is known."""
        with self._lock:
            self._pods.pop(uid, None)

    def expire(self, now: float) -> None:
        """Reject those for which a plugin has waited long enough."""
        for waiting in self:
            waiting.expire(now)

    def next_expiry(self) -> float | None:
        """Return when to call `expire` again, None if no pod waits."""
        return min((end for waiting in self if (end := waiting.expires_at) is not None), default=None)
