"""A stream of pods whose memory isn't what they request, placed by one rule or another."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import NodeMetrics, Pod
from webhook.scheduling.resources import MEMORY
from webhook.scheduling.testing import make_cache, make_node, make_pod

__all__ = ["Arrival", "Outcome", "Replay", "Rule", "draw_arrivals"]

MIB = 2**20
NODES = 20
NODE_MEMORY = 64 * 1024 * MIB
SECONDS = 1800
# How often each node is measured, and how long a pod takes to fill its memory.
RESOLUTION_SECONDS = 15
START_SECONDS = 10
_FULL = 0.9


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod: when it comes and goes in seconds, and the bytes that it requests and those that it uses."""

    at: float
    ends_at: float
    name: str
    request: int
    usage: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares of the nodes' memory in use, over all seconds: the highest, the mean spread, and how often above 90 %."""

    highest: float
    spread: float
    full: int


class Rule(Protocol):
    """Says how good the nodes are for a pod."""

    def measured(self, now: float, usage: npt.NDArray[np.float64]) -> None:
        """Take note of the bytes in use on each node."""

    def scores(self, now: float, pod: Pod, arrival: Arrival) -> npt.NDArray[np.float64]:
        """Return a score for each node, higher is better."""

    def placed(self, now: float, arrival: Arrival, node: int) -> None:
        """Take note that the pod went there."""


def draw_arrivals(seed: int) -> list[Arrival]:
    """Return half an hour of pods in bursts, whose usage is their request times something between 0.2 and 2."""
    rng = random.Random(seed)  # noqa: S311 (a scenario, no secret)
    arrivals: list[Arrival] = []
    now = 0.0
    while now < SECONDS:
        for _ in range(rng.choice((1, 1, 5, 40))):
            request = int(rng.choice((256, 512, 1024, 2048)) * MIB)
            usage = int(request * rng.uniform(0.2, 2))
            ends_at = now + rng.expovariate(1 / 600)
            arrivals.append(Arrival(now, ends_at, f"pod-{len(arrivals)}", request, usage))
        now += rng.expovariate(1 / 8)
    return arrivals


class Replay:
    """The cluster while the pods come and go. Requests decide what fits, for all rules alike."""

    def __init__(self) -> None:
        self.now = 0.0
        self.names = [f"node-{index:02d}" for index in range(NODES)]
        self.cache: Cache = make_cache(
            *(make_node(name, memory=str(NODE_MEMORY), cpu="1000", pods="1000") for name in self.names),
            clock=lambda: self.now,
        )
        self._running: list[tuple[float, str, Pod, Arrival, int, float]] = []

    def run(self, arrivals: Sequence[Arrival], rule: Rule, *, seed: int) -> Outcome:
        """Place the pods by the rule; those that fit nowhere are turned away."""
        rng = random.Random(seed)  # noqa: S311 (breaks ties)
        waiting = iter([*arrivals, None])
        coming = next(waiting)
        shares = []
        for second in range(SECONDS):
            self.now = float(second)
            self._end()
            if second % RESOLUTION_SECONDS == 0:
                rule.measured(self.now, self.usage())
            while coming is not None and coming.at <= second:
                self._place(coming, rule, rng)
                coming = next(waiting)
            shares.append(self.usage() / NODE_MEMORY)
        seen = np.array(shares)
        return Outcome(
            highest=float(seen.max()),
            spread=float(seen.std(axis=1).mean()),
            full=int((seen > _FULL).sum()),
        )

    def usage(self) -> npt.NDArray[np.float64]:
        """Return the bytes in use on each node."""
        total = np.zeros(NODES)
        for _, _, _, arrival, node, since in self._running:
            total[node] += arrival.usage * min(1.0, (self.now - since) / START_SECONDS)
        return total

    def metrics(self, usage: npt.NDArray[np.float64]) -> Iterator[NodeMetrics]:
        """Yield what metrics.k8s.io would tell of that usage."""
        for name, used in zip(self.names, usage.tolist(), strict=True):
            yield msgspec.convert(
                {
                    "metadata": {"name": name},
                    "timestamp": str(self.now),
                    "window": f"{RESOLUTION_SECONDS}s",
                    "usage": {MEMORY: str(int(used))},
                },
                NodeMetrics,
            )

    def _place(self, arrival: Arrival, rule: Rule, rng: random.Random) -> None:
        pod = make_pod(arrival.name, memory=str(arrival.request))
        requested = self.cache.table.amounts.requested(MEMORY)
        scores = np.where(
            requested + arrival.request <= NODE_MEMORY, rule.scores(self.now, pod, arrival), -1.0
        )
        if scores.max() < 0:
            return
        best = np.flatnonzero(scores == scores.max())
        node = int(best[rng.randrange(len(best))])
        self.cache.assume(pod, self.names[node])
        rule.placed(self.now, arrival, node)
        heapq.heappush(self._running, (arrival.ends_at, arrival.name, pod, arrival, node, self.now))

    def _end(self) -> None:
        while self._running and self._running[0][0] <= self.now:
            self.cache.remove_pod(heapq.heappop(self._running)[2])
