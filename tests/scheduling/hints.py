"""Whatever makes a rejected pod schedulable also has to wake it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from webhook.scheduling.events import Happening
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import FitError, Placement, Unsupported
from webhook.scheduling.queueing_hints import QueueingStrategy

__all__ = ["woken"]


def woken(
    seed: int, framework: Framework, waiting: Sequence[Pod], changes: Iterable[Happening | None]
) -> Counter[str]:
    """Let `changes` happen as they are drawn, and count whose rejection of a pod one ended.

    Fails, naming the seed, where a pod becomes schedulable by a change that doesn't wake it.
    """
    helped: Counter[str] = Counter()
    before = [framework.schedule(pod) for pod in waiting]
    for happening in changes:
        after = [framework.schedule(pod) for pod in waiting]
        for pod, was, now in zip(waiting, before, after, strict=True):
            if not isinstance(was, FitError | Unsupported) or not isinstance(now, Placement):
                continue
            assert happening is not None, (seed, was.message)
            strategy = framework.queueing_hints.strategy(pod, was.rejected_by, was.pending_by, happening)
            assert strategy is not QueueingStrategy.SKIP, (seed, was.message, happening)
            helped.update(was.rejected_by)
        before = after
    return helped
