"""`make bench-memory-usage`: how evenly MemoryUsage fills nodes, beside the rules of Trimaran."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Mapping

import click
import numpy as np
import numpy.typing as npt

from bench.replay import NODE_MEMORY, NODES, Arrival, Outcome, Replay, Rule, draw_arrivals
from bench.report import Figure, print_figures, print_table
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugins.memory_usage import MemoryUsage

__all__ = ["PEERS", "main", "replay"]

BENCH = "memory-usage"

_Column = npt.NDArray[np.float64]


class Ours:
    """The plugin, told what metrics.k8s.io would tell."""

    def __init__(self, cluster: Replay) -> None:
        self._cluster = cluster
        self._plugin = MemoryUsage({}, Handle("custom-scheduler", cluster.cache))

    def measured(self, _now: float, usage: _Column) -> None:
        """Hand on the measurement."""
        self._cluster.cache.memory.measure(self._cluster.metrics(usage))

    def scores(self, _now: float, pod: Pod, _arrival: Arrival) -> _Column:
        """Return the plugin's scores."""
        return self._plugin.score(pod, Nodes(self._cluster.cache.table)).astype(np.float64)

    def placed(self, _now: float, _arrival: Arrival, _node: int) -> None:
        """Do nothing: the cache has told the plugin."""


class _Trimaran:
    """What both rules share: load-watcher is asked each 30 s."""

    POLL_SECONDS = 30

    def __init__(self, _cluster: Replay) -> None:
        self._usage = np.zeros(NODES)
        self._polled_at = -np.inf

    def measured(self, now: float, usage: _Column) -> None:
        """Take over every second measurement."""
        if now - self._polled_at >= self.POLL_SECONDS:
            self._polled_at = now
            self._usage = usage

    def placed(self, now: float, arrival: Arrival, node: int) -> None:
        """Take note of nothing."""


class LoadVariationRiskBalancing(_Trimaran):
    """Trimaran's rule for cpu and memory, here for memory: the mean and the deviation of the load after the pod.

    Source: kubernetes-sigs/scheduler-plugins pkg/trimaran/loadvariationriskbalancing, analysis.go.
    """

    HISTORY = 10

    def __init__(self, cluster: Replay) -> None:
        super().__init__(cluster)
        self._history: deque[_Column] = deque(maxlen=self.HISTORY)

    def measured(self, now: float, usage: _Column) -> None:
        """Keep the last measurements, of which it takes mean and deviation."""
        super().measured(now, usage)
        if self._polled_at == now:
            self._history.append(usage)

    def scores(self, _now: float, _pod: Pod, arrival: Arrival) -> _Column:
        """Return 100 * (1 - (mean + deviation) / 2), both as shares of the node between 0 and 1."""
        mean = np.clip((np.mean(self._history, axis=0) + arrival.request) / NODE_MEMORY, 0, 1)
        deviation = np.clip(np.std(self._history, axis=0) / NODE_MEMORY, 0, 1)
        scores: _Column = np.rint(100 * (1 - (mean + deviation) / 2))
        return scores


class TargetLoadPacking(_Trimaran):
    """Trimaran's rule for cpu, here for memory: up to the target a node is the better the fuller, beyond it the worse.

    Pods bound since the measurement count with 1.5 times their request.
    Source: kubernetes-sigs/scheduler-plugins pkg/trimaran/targetloadpacking.
    """

    TARGET = 40.0
    MULTIPLIER = 1.5

    def __init__(self, cluster: Replay) -> None:
        super().__init__(cluster)
        self._since: list[tuple[float, int, int]] = []

    def scores(self, _now: float, _pod: Pod, arrival: Arrival) -> _Column:
        """Return the score of the predicted utilisation, in percent."""
        self._since = [entry for entry in self._since if entry[0] > self._polled_at]
        missing = np.zeros(NODES)
        for _, node, request in self._since:
            missing[node] += self.MULTIPLIER * request
        percent = 100 * (self._usage + missing + self.MULTIPLIER * arrival.request) / NODE_MEMORY
        rising = (100 - self.TARGET) * percent / self.TARGET + self.TARGET
        falling = self.TARGET * (100 - percent) / (100 - self.TARGET)
        scores: _Column = np.rint(np.where(percent <= self.TARGET, rising, np.maximum(falling, 0)))
        return scores

    def placed(self, now: float, arrival: Arrival, node: int) -> None:
        """Count the pod until the next measurement."""
        self._since.append((now, node, arrival.request))


PEERS: Mapping[str, Callable[[Replay], Rule]] = {
    "trimaran-risk-balancing": LoadVariationRiskBalancing,
    "trimaran-target-packing": TargetLoadPacking,
}


def replay(seed: int) -> dict[str, Outcome]:
    """Return what became of one stream of pods under each rule, by name; ours is called `ours`."""
    arrivals = draw_arrivals(seed)
    outcomes = {}
    rules: Mapping[str, Callable[[Replay], Rule]] = {"ours": Ours, **PEERS}
    for name, make in rules.items():
        cluster = Replay()
        outcomes[name] = cluster.run(arrivals, make(cluster), seed=seed)
    return outcomes


@click.command()
@click.option("--replays", type=click.IntRange(1), default=20, show_default=True, help="Streams of pods.")
def main(replays: int) -> None:
    """Replay streams of pods under each rule, and print the highest and the spread of the nodes' memory."""
    runs = []
    for seed in range(replays):
        click.echo(f"replay {seed + 1} of {replays}", err=True)
        runs.append(replay(seed))
    rows = []
    figures = []
    for peer in PEERS:
        for unit, value in (("highest share", _highest), ("spread", _spread)):
            ours = [value(run["ours"]) for run in runs]
            theirs = [value(run[peer]) for run in runs]
            ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
            rows.append(
                (
                    f"{unit} / {peer}",
                    f"{statistics.median(ours):.3f}",
                    f"{statistics.median(theirs):.3f}",
                    f"{statistics.median(ratios):.2f}",
                    f"{min(ratios):.2f}",
                    f"{sum(ratio > 1 for ratio in ratios)}/{replays}",
                )
            )
            figures.append(
                Figure(
                    bench=BENCH,
                    case=peer,
                    unit=unit,
                    ours=statistics.median(ours),
                    peer=statistics.median(theirs),
                    ratio=statistics.median(ratios),
                    runs=replays,
                )
            )
    title = f"Memory in use as a share of {NODES} nodes; usage is the request times 0.2 to 2"
    print_table(title, ("", "ours", "peer", "ratio", "worst ratio", "better"), rows)
    print_figures(figures)


def _highest(outcome: Outcome) -> float:
    return outcome.highest


def _spread(outcome: Outcome) -> float:
    return outcome.spread


if __name__ == "__main__":
    main()
