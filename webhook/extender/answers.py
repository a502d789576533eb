"""Where kube-scheduler will put the pods that it has just asked about.

The protocol has no Reserve: what becomes of an answer shows only in the watch, when the pod has its node. Pods that
are asked about meanwhile would all be sent to the node that looked best to the first. So the node that we liked best
counts as taken until the pod shows up, is asked about again, or has had its time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import Pod

__all__ = ["RecentAnswers"]

# kube-scheduler binds within seconds of its decision, or has given it up.
REMEMBERED_SECONDS = 15.0


class RecentAnswers:
    """Pods assumed in a cache for a while. Whoever owns the cache calls it."""

    def __init__(self, cache: Cache, clock: Callable[[], float]) -> None:
        self._cache = cache
        self._clock = clock
        self._answered: OrderedDict[str, tuple[float, Pod]] = OrderedDict()

    def forget(self, pod: Pod) -> None:
        """Take back what was remembered of a pod, and of all whose time is over: what was answered came to nothing."""
        self._take_back(pod.metadata.uid)
        over = self._clock() - REMEMBERED_SECONDS
        while self._answered:
            uid, (answered_at, _) = next(iter(self._answered.items()))
            if answered_at > over:
                return
            self._take_back(uid)

    def remember(self, pod: Pod, node_name: str) -> None:
        """Count the pod on that node, unless the watch has shown already where it is."""
        self.forget(pod)
        if self._cache.node_of(pod.metadata.uid) is None:
            self._cache.assume(pod, node_name)
            self._answered[pod.metadata.uid] = self._clock(), pod

    def _take_back(self, uid: str) -> None:
        answered = self._answered.pop(uid, None)
        if answered is not None:
            # Does nothing to a pod that has shown up meanwhile.
            self._cache.forget(answered[1])
