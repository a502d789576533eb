"""PrioritySort: the higher priority goes first, and of equal ones the one that has waited longer."""

from __future__ import annotations

from webhook.scheduling.objects import Pod

__all__ = ["PrioritySort"]


class PrioritySort:
    """The default order of the queue."""

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return the key; the smallest goes first."""
        return (-pod.priority, queued_at)
