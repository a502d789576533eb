"""`make bench-extender`: what one pod costs in our handlers, beside handlers that let everything pass.

From the bytes of a request's body to those of the answer's: there is no HTTP and no TLS, of ours or of the others.
"""

from __future__ import annotations

import json
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from bench.report import Figure, Judged, print_figures, print_table, verdicts
from webhook.extender.verbs import Verbs
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.testing import make_cache, make_node, make_node_metrics, make_pod

__all__ = ["BUDGET_MS", "BUDGET_NODES", "main", "measure"]

BENCH = "extender"
CASE = "filter+prioritize"
NODES = 5_000
PODS_PER_NODE = 10
# At this size, the median of both calls together.
BUDGET_NODES = NODES
BUDGET_MS = 1.0

Handler = Callable[[bytes], bytes]

# Our own two, without those that kube-scheduler runs itself.
_PROFILE = Profile(
    plugins=PluginsConfig(
        multi_point=PluginSetConfig(
            enabled=tuple(PluginRef(name=name) for name in ("PrioritySort", "NodeLabel", "MemoryUsage")),
            disabled=(PluginRef(name="*"),),
        )
    )
)


class PassThrough:
    """The least that handlers with the json of the standard library do: let all nodes pass, and like them all alike."""

    def filter(self, body: bytes) -> bytes:
        """Return all names."""
        args = json.loads(body)
        return json.dumps({"NodeNames": args["NodeNames"], "FailedNodes": {}, "Error": ""}).encode()

    def prioritize(self, body: bytes) -> bytes:
        """Return 0 for all."""
        args = json.loads(body)
        return json.dumps([{"Host": name, "Score": 0} for name in args["NodeNames"]]).encode()


def measure(nodes: int, pods: int) -> tuple[list[float], list[float]]:
    """Return our milliseconds and those of the pass-through, for each pod, filter and prioritize together."""
    cache = _cluster(nodes)
    ours = _verbs(cache)
    theirs = PassThrough()
    rng = random.Random(0)  # noqa: S311 (an order)
    names = [node.name for node in cache.table.all_nodes()]
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(pods):
        # kube-scheduler's goroutines find the feasible nodes in no order.
        rng.shuffle(names)
        pod = _pod(number)
        for handlers, taken in ((ours, times[0]), (theirs, times[1])):
            taken.append(_ask(handlers.filter, handlers.prioritize, pod, names))
    return times


def _ask(filter_: Handler, prioritize: Handler, pod: object, names: Sequence[str]) -> float:
    """Return the milliseconds of processor time of both calls, the second about what the first let pass."""
    first = msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": names})
    began = time.thread_time()
    answer = filter_(first)
    seconds = time.thread_time() - began
    second = msgspec.json.encode(
        {"Pod": pod, "Nodes": None, "NodeNames": msgspec.json.decode(answer)["NodeNames"]}
    )
    began = time.thread_time()
    prioritize(second)
    return 1000 * (seconds + time.thread_time() - began)


def _cluster(nodes: int) -> Cache:
    names = [f"ip-10-0-{index // 256}-{index % 256}.example.internal" for index in range(nodes)]
    cache = make_cache(*(make_node(name, labels={"custom": "yes"}, memory="64Gi") for name in names))
    for index, name in enumerate(names):
        for number in range(PODS_PER_NODE):
            cache.set_pod(
                make_pod(f"placed-{index}-{number}", memory="1Gi", node=name, status={"phase": "Running"})
            )
    return cache


def _verbs(cache: Cache) -> Verbs:
    rng = random.Random(0)  # noqa: S311 (draws one of several best nodes)
    framework = build_framework(_PROFILE, load_plugins(), cache, rng)
    cache.memory.measure(
        make_node_metrics(node.name, memory=f"{index % 60}Gi")
        for index, node in enumerate(cache.table.all_nodes())
    )
    return Verbs(framework, cache, threading.Lock(), clock=time.monotonic, rng=rng)


def _pod(number: int) -> dict[str, Any]:
    """Return a pod as kube-scheduler sends it, in part."""
    return {
        "metadata": {
            "name": f"web-{number}",
            "namespace": "default",
            "uid": f"uid-{number}",
            "labels": {"app": "web"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1",
                    "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
                }
            ],
        },
        "status": {"phase": "Pending"},
    }


@click.command()
@click.option("--nodes", type=click.IntRange(1), default=NODES, show_default=True)
@click.option(
    "--pods", type=click.IntRange(1), default=300, show_default=True, help="How many are asked about."
)
def main(nodes: int, pods: int) -> None:
    """Ask about pods by the names of all nodes, of ours and of the pass-through in turn."""
    click.echo(f"asking about {pods} pods on {nodes:,} nodes", err=True)
    ours, theirs = measure(nodes, pods)
    ratio = statistics.median(their / our for our, their in zip(ours, theirs, strict=True))
    rows = [
        (name, f"{statistics.median(taken):.2f}", f"{min(taken):.2f}", f"{_p99(taken):.2f}")
        for name, taken in (("ours", ours), ("pass-through with json", theirs))
    ]
    print_table(
        f"Milliseconds in the handlers for one pod on {nodes:,} nodes", ("", "median", "least", "p99"), rows
    )
    figure = Figure(
        bench=BENCH,
        case=CASE,
        unit="ms",
        ours=statistics.median(ours),
        peer=statistics.median(theirs),
        ratio=ratio,
        runs=pods,
    )
    figures = [Judged.of(figure, BUDGET_MS) if nodes == BUDGET_NODES else figure]
    for line in verdicts(figures):
        click.echo(line)
    print_figures(figures)


def _p99(taken: Sequence[float]) -> float:
    return sorted(taken)[len(taken) * 99 // 100]


if __name__ == "__main__":
    main()
