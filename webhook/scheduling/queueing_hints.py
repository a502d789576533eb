"""Which changes are worth another attempt for a pod that plugins have rejected.

Source: isPodWorthRequeuing in pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Set

from webhook.scheduling.containment import PluginError
from webhook.scheduling.events import (
    ClusterEvent,
    ClusterEventWithHint,
    Happening,
    Hint,
    QueueingHint,
    Resource,
)
from webhook.scheduling.objects import Pod
from webhook.scheduling.side_faults import SideFaults

__all__ = ["HINT", "QueueingHints", "QueueingStrategy"]

HINT = "queueing hint"
"""Where a plugin fails that fails in one."""


class QueueingStrategy(enum.Enum):
    """What becomes of the pod."""

    SKIP = enum.auto()  # it goes on waiting
    AFTER_BACKOFF = enum.auto()
    IMMEDIATELY = enum.auto()


class QueueingHints:
    """The events that plugins have registered, by plugin; one that has registered none at all waits for any event.

    A hint that raises or answers nonsense counts as Queue, so that no pod gets stuck; `faults` tells of it.
    """

    def __init__(
        self, registered: Mapping[str, tuple[ClusterEventWithHint, ...]], faults: SideFaults | None = None
    ) -> None:
        self._registered = registered
        self._faults = faults or SideFaults()

    def concern(self, rejected_by: Set[str], event: ClusterEvent) -> bool:
        """Tell whether one of the plugins waits for such an event at all; without names, every event counts."""
        return not rejected_by or any(self._waits_for(plugin, event) for plugin in rejected_by)

    def strategy(
        self, pod: Pod, rejected_by: Set[str], pending_by: Set[str], happening: Happening
    ) -> QueueingStrategy:
        """Return what the change means for a pod rejected by these plugins, some of which answered Pending."""
        if not rejected_by:
            return QueueingStrategy.AFTER_BACKOFF
        if happening.event.resource is Resource.TARGET_POD and not _is(pod, happening.new):
            return QueueingStrategy.SKIP
        found = QueueingStrategy.SKIP
        for plugin in rejected_by:
            if self._helps(plugin, pod, happening):
                if plugin in pending_by:
                    return QueueingStrategy.IMMEDIATELY
                if not pending_by:
                    return QueueingStrategy.AFTER_BACKOFF
                found = QueueingStrategy.AFTER_BACKOFF
        return found

    def _waits_for(self, plugin: str, event: ClusterEvent) -> bool:
        registered = self._registered.get(plugin)
        return registered is None or any(each.event.matches(event) for each in registered)

    def _helps(self, plugin: str, pod: Pod, happening: Happening) -> bool:
        registered = self._registered.get(plugin)
        if registered is None:
            return True
        return any(
            each.hint is None or self._answer(plugin, each.hint, pod, happening) is QueueingHint.QUEUE
            for each in registered
            if each.event.matches(happening.event)
        )

    def _answer(self, plugin: str, hint: Hint, pod: Pod, happening: Happening) -> QueueingHint:
        try:
            return self._faults.ask(plugin, HINT, _checked, hint, pod, happening.old, happening.new)
        except PluginError:
            return QueueingHint.QUEUE


def _checked(plugin: str, answer: object) -> QueueingHint:
    if not isinstance(answer, QueueingHint):
        raise PluginError(plugin, HINT, f"expected a QueueingHint, got {answer!r}")
    return answer


def _is(pod: Pod, other: object) -> bool:
    return isinstance(other, Pod) and other.metadata.uid == pod.metadata.uid
