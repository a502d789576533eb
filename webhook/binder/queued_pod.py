"""A pod on its way to a node, as the queue knows it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from webhook.scheduling.objects import Pod

__all__ = ["Place", "QueuedPod"]

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 10.0


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
    """What happened to the pod so far. The queue alone changes it."""

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
    # Those of them that answered Pending: what they wait for ends the backoff too.
    pending_by: frozenset[str] = frozenset()
    flushed: bool = False
    # What an entry of a heap must carry to be more than a leftover.
    ticket: int = 0
    # Where in the log of events its attempt began.
    popped_at: int = field(default=0, repr=False)

    @property
    def rejection_backoff_end(self) -> float:
        """When the pod may be tried again after its rejections, by the queue's clock."""
        return self._backoff_end(self.rejections)

    @property
    def error_backoff_end(self) -> float:
        """When it may after errors."""
        return self._backoff_end(self.errors)

    def _backoff_end(self, failures: int) -> float:
        if failures == 0:
            return self.queued_at
        return self.queued_at + min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** (failures - 1))
