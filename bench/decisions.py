"""`make bench-decisions`: one scheduling decision, in process, on clusters of several sizes."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import click
import msgspec

from bench.clusters import SHAPES, filled_cache, waiting_pods
from bench.plugin_levels import LEVELS, PluginBench
from bench.report import Figure, Judged, print_figures, print_table, verdicts
from webhook.observe.scheduling_metrics import observe_plugin
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import Profile
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.timing import Timing as PluginTiming

__all__ = ["BUDGET_US", "PODS_GROWTH", "main"]

BENCH = "decisions"
SIZES = (100, 1_000, 5_000, 15_000)
PODS_PER_NODE = 10
# Other numbers of pods on each node, to tell how the time grows with them, at one size.
OTHER_PODS_PER_NODE = (1, 20)
# At this size, in microseconds: of a decision, and of what a plugin has of it.
BUDGET_NODES = 5_000
BUDGET_US = {
    "plain": 400,
    **dict.fromkeys(("node-affinity", "spread", "anti-affinity", "affinity"), 1000),
    "plugin-per-node": 10_000,
    "plugin-vectorised": 200,
}
# How many times as long a decision may take with the most pods on each node as with the fewest; and with more nodes,
# at most as many times as there are more.
PODS_GROWTH = 1.5

_WARM_UP = 50
# So many of the pods that were just placed stay, as their bindings take a while; then they are taken back.
_STAYING = 50


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A shape on a cluster."""

    shape: str
    nodes: int
    pods_per_node: int = PODS_PER_NODE

    @property
    def name(self) -> str:
        """Shape and nodes, and pods a node where they are not as usual: `spread/5000`, `spread/5000x20`."""
        usual = self.pods_per_node == PODS_PER_NODE
        return f"{self.shape}/{self.nodes}" + ("" if usual else f"x{self.pods_per_node}")


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Microseconds of processor time that one decision takes."""

    p50: float
    p99: float


class Bench:
    """One case: the cluster stands, and pods come one after the other, each counted where it was put."""

    def __init__(self, case: Case) -> None:
        self._cache = filled_cache(case.shape, nodes=case.nodes, pods_per_node=case.pods_per_node)
        rng = random.Random(0)  # noqa: S311 (breaks ties between equal nodes)
        # As in the binder: one decision in ten is timed plugin by plugin.
        timing = PluginTiming(time.perf_counter, observe_plugin)
        self._framework = build_framework(Profile(), load_plugins(), self._cache, rng, timing)
        self._pods = waiting_pods(case.shape)
        self._staying: deque[Pod] = deque()
        self.run(_WARM_UP)

    def run(self, decisions: int) -> list[int]:
        """Return the nanoseconds of each decision. Raises AssertionError for a pod that fits nowhere."""
        return [self._decide(next(self._pods), self._cache) for _ in range(decisions)]

    def _decide(self, pod: Pod, cache: Cache) -> int:
        # A decision waits for nothing, so the time that others have the processor isn't part of it.
        began = time.thread_time_ns()
        decision = self._framework.schedule(pod)
        took = time.thread_time_ns() - began
        assert isinstance(decision, Placement), decision
        cache.assume(pod, decision.node_name)
        self._staying.append(pod)
        if len(self._staying) > _STAYING:
            cache.forget(self._staying.popleft())
        return took


def cases(sizes: Iterable[int]) -> list[Case]:
    """Return every case, small clusters first."""
    found = [Case(shape=shape, nodes=nodes) for nodes in sizes for shape in SHAPES]
    if BUDGET_NODES in sizes:
        found += [
            Case(shape=shape, nodes=BUDGET_NODES, pods_per_node=pods)
            for pods in OTHER_PODS_PER_NODE
            for shape in SHAPES
        ]
    return found


@click.command(epilog="Example: make bench-decisions")
@click.option(
    "--nodes", "sizes", type=click.IntRange(1), multiple=True, default=SIZES, show_default=True, help="Sizes."
)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Of each case.")
@click.option(
    "--decisions", type=click.IntRange(2), default=300, show_default=True, help="In each run of a case."
)
def main(*, sizes: tuple[int, ...], runs: int, decisions: int) -> None:
    """Measure how long one decision takes on clusters of several sizes, and a plugin; p50 and p99 are medians over the runs."""
    timings: dict[str, Timing] = {}
    for case in cases(sizes):
        timings[case.name] = _timing(Bench(case), runs, decisions)
        # The next cluster shall not share the memory with this one.
        gc.collect()
    _print_sizes(sizes, timings, f"{runs} runs of {decisions} decisions")
    if BUDGET_NODES in sizes:
        _print_pods(timings)
        for level in LEVELS:
            timings[f"{level}/{BUDGET_NODES}"] = _timing(
                PluginBench(level, nodes=BUDGET_NODES), runs, decisions
            )
    found = [*figures(timings, runs), *growth(timings, sizes, runs)]
    for line in verdicts(found):
        click.echo(line)
    print_figures(found)


def figures(timings: Mapping[str, Timing], runs: int) -> Iterator[Figure]:
    """Yield the figures of each case; what has a budget is judged."""
    budgets = {f"{shape}/{BUDGET_NODES}": budget for shape, budget in BUDGET_US.items()}
    for name, timing in timings.items():
        p50 = Figure(bench=BENCH, case=name, unit="p50 µs", ours=round(timing.p50, 2), runs=runs)
        yield Judged.of(p50, budgets[name]) if name in budgets else p50
        yield Figure(bench=BENCH, case=name, unit="p99 µs", ours=round(timing.p99, 2), runs=runs)


def growth(timings: Mapping[str, Timing], sizes: Iterable[int], runs: int) -> Iterator[Judged]:
    """Yield how many times as long the median takes with more nodes, where it grows most for their number, and with more pods."""

    def judged(fewer: Case, more: Case, budget: float) -> Judged:
        times = timings[more.name].p50 / timings[fewer.name].p50
        case = f"{fewer.name}-{more.name.partition('/')[2]}"
        figure = Figure(bench=BENCH, case=case, unit="times", ours=round(times, 2), runs=runs)
        return Judged.of(figure, budget)

    for shape in SHAPES:
        steps = [
            judged(Case(shape=shape, nodes=fewer), Case(shape=shape, nodes=more), more / fewer)
            for fewer, more in pairwise(sorted(set(sizes)))
        ]
        if steps:
            yield max(steps, key=lambda step: step.ours / step.budget)
        numbers = sorted(OTHER_PODS_PER_NODE)
        fewest, most = (
            Case(shape=shape, nodes=BUDGET_NODES, pods_per_node=number)
            for number in (numbers[0], numbers[-1])
        )
        if most.name in timings:
            yield judged(fewest, most, PODS_GROWTH)


def _timing(bench: Bench | PluginBench, runs: int, decisions: int) -> Timing:
    cuts = [statistics.quantiles(bench.run(decisions), n=100) for _ in range(runs)]
    return Timing(
        p50=statistics.median(cut[49] for cut in cuts) / 1000,
        p99=statistics.median(cut[98] for cut in cuts) / 1000,
    )


def _print_sizes(sizes: Sequence[int], timings: dict[str, Timing], how: str) -> None:
    rows = []
    for shape in SHAPES:
        medians = [timings[f"{shape}/{nodes}"].p50 for nodes in sizes]
        rows.append((shape, *(f"{median:,.0f}" for median in medians), f"{medians[-1] / medians[0]:.1f}"))
    print_table(
        f"One decision in µs (median) with {PODS_PER_NODE} pods on each node, {how}",
        (
            "shape",
            *(f"{nodes:,} nodes" for nodes in sizes),
            f"times, for {sizes[-1] / sizes[0]:g} times the nodes",
        ),
        rows,
    )


def _print_pods(timings: dict[str, Timing]) -> None:
    numbers = sorted({PODS_PER_NODE, *OTHER_PODS_PER_NODE})
    rows = []
    for shape in SHAPES:
        names = (Case(shape=shape, nodes=BUDGET_NODES, pods_per_node=number).name for number in numbers)
        rows.append((shape, *(f"{timings[name].p50:,.0f}" for name in names)))
    columns = ("shape", *(f"{number * BUDGET_NODES:,} pods" for number in numbers))
    print_table(f"One decision in µs (median) on {BUDGET_NODES:,} nodes, by pods placed", columns, rows)


if __name__ == "__main__":
    main()
