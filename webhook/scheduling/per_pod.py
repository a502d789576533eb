"""What is worked out of a pod, once for all who ask for it in a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from webhook.scheduling.objects import Pod

__all__ = ["per_pod"]

T = TypeVar("T")

_PODS = 256


def per_pod(work_out: Callable[[Pod], T]) -> Callable[[Pod], T]:
    """Return the function with a memory of the pods that it was asked about last; pods never change."""
    known: dict[int, tuple[Pod, T]] = {}

    def remembered(pod: Pod) -> T:
        # Pods can't be hashed. While one is kept, no other has its id.
        found = known.get(id(pod))
        if found is None:
            if len(known) >= _PODS:
                known.clear()
            found = known[id(pod)] = (pod, work_out(pod))
        return found[1]

    return remembered
