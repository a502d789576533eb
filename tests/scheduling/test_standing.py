from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.scheduling.random_cluster import random_node, random_pod
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement
from webhook.scheduling.plugin import Local, Scores
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.record import Record
from webhook.scheduling.standings import Standings
from webhook.scheduling.status import SUCCESS, Code, Reason, Status
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

NODES = 40


class Watched:
    """A local plugin that refuses full nodes and likes empty ones; it keeps which nodes it was asked about."""

    reasons = (Reason(Code.UNSCHEDULABLE, "full"),)

    def __init__(self, local: Local) -> None:
        self.local = local
        self.calls: list[tuple[str, list[str]]] = []
        self.fails = False

    def pre_filter(self, _pod: Pod, _nodes: Nodes) -> Status:
        self.calls.append(("pre_filter", []))
        return SUCCESS

    def filter(self, _pod: Pod, nodes: Nodes) -> npt.NDArray[np.bool_]:
        self.calls.append(("filter", list(nodes.names)))
        if self.fails:
            raise RuntimeError("broken")
        return nodes.pod_counts < 2

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        self.calls.append(("score", list(nodes.names)))
        return 100 - nodes.pod_counts

    def asked(self) -> list[tuple[str, list[str]]]:
        calls, self.calls = self.calls, []
        return calls


def cluster() -> Cache:
    return make_cache(*(make_node(f"n{number}") for number in range(NODES)))


def with_built_in(cache: Cache, plugin: object) -> Framework:
    """The default profile with the plugin, as if it were one of those that ship."""
    registry = load_plugins()
    registry.register("Watched", lambda _args, _handle: plugin, is_built_in=True)
    added = PluginSetConfig(enabled=(PluginRef(name="Watched"),))
    profile = Profile(plugins=PluginsConfig(multi_point=added))
    return build_framework(profile, registry, cache, random.Random(0))


def seen(framework: Framework, pod: Pod) -> tuple[object, ...]:
    """What a decision goes by, node by node."""
    record = Record()
    decision = framework.schedule(pod, record)
    scores = {name: weighted.tolist() for name, weighted in record.scores.items()}
    message = "" if isinstance(decision, Placement) else decision.message
    feasible = None if record.feasible is None else record.feasible.tolist()
    return message, feasible, scores, None if record.total is None else record.total.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_is_what_would_be_answered_afresh(seed: int) -> None:
    rng = random.Random(seed)
    cache = make_cache(*(random_node(rng, f"n{number}") for number in range(NODES)))
    framework, fresh = make_framework(cache), make_framework(cache)
    kinds = [random_pod(rng, f"kind-{number}") for number in range(5)]
    placed: list[Pod] = []
    for number in range(60):
        _change(rng, cache, placed, number)
        pod = rng.choice(kinds)
        fresh._standings = Standings(cache.table, fresh.plugins)

        assert seen(framework, pod) == seen(fresh, pod)
        record = Record()
        framework.schedule(pod, record)
        decision = framework.schedule(pod)
        if isinstance(decision, Placement):
            assert record.feasible is not None
            row = cache.table.row_of(decision.node_name)
            assert row in record.feasible.tolist()
            if record.total is not None:
                chosen = record.feasible.tolist().index(row)
                assert record.total[chosen] == record.total.max()


def _change(rng: random.Random, cache: Cache, placed: list[Pod], number: int) -> None:
    """Let something happen to a node or two."""
    match rng.choice(("place", "place", "place", "release", "node", "node gone", "many")):
        case "place":
            name = f"n{rng.randrange(NODES)}"
            placed.append(random_pod(rng, f"placed-{number}", node=name))
            cache.set_pod(placed[-1])
        case "release" if placed:
            cache.remove_pod(placed.pop(rng.randrange(len(placed))))
        case "node":
            cache.set_node(random_node(rng, f"n{rng.randrange(NODES)}"))
        case "node gone":
            cache.remove_node(f"n{rng.randrange(NODES)}")
        case "many":
            for row in range(NODES // 4):
                cache.set_node(random_node(rng, f"n{row}"))
        case _:
            pass


def test_only_nodes_that_have_changed_are_asked_about_again() -> None:
    cache, plugin = cluster(), Watched(Local.NODE_AND_PODS)
    framework = with_built_in(cache, plugin)
    framework.schedule(make_pod("first"))
    everything = [f"n{number}" for number in range(NODES)]
    assert plugin.asked() == [("pre_filter", []), ("filter", everything), ("score", everything)]

    cache.assume(make_pod("first"), "n7")
    framework.schedule(make_pod("second"))
    assert plugin.asked() == [("filter", ["n7"]), ("score", ["n7"])]
    framework.schedule(make_pod("third"))
    assert plugin.asked() == []


def test_a_plugin_that_looks_at_node_objects_alone_is_not_asked_about_pods_that_come_and_go() -> None:
    cache, plugin = cluster(), Watched(Local.NODE)
    framework = with_built_in(cache, plugin)
    framework.schedule(make_pod("first"))
    plugin.asked()

    cache.assume(make_pod("first"), "n7")
    framework.schedule(make_pod("second"))
    assert plugin.asked() == []
    cache.set_node(make_node("n8", cpu="8"))
    framework.schedule(make_pod("third"))
    assert plugin.asked() == [("filter", ["n8"]), ("score", ["n8"])]


def test_a_pod_that_asks_for_something_else_is_asked_about_by_itself() -> None:
    plugin = Watched(Local.NODE_AND_PODS)
    framework = with_built_in(cluster(), plugin)
    framework.schedule(make_pod("a", cpu="1"))
    plugin.asked()

    framework.schedule(make_pod("b", cpu="2"))

    assert [point for point, _ in plugin.asked()] == ["pre_filter", "filter", "score"]


def test_after_a_failure_nothing_is_missing() -> None:
    cache, plugin = cluster(), Watched(Local.NODE_AND_PODS)
    framework = with_built_in(cache, plugin)
    framework.schedule(make_pod("first"))
    cache.assume(make_pod("first"), "n7")
    cache.assume(make_pod("second"), "n7")

    plugin.fails = True
    framework.schedule(make_pod("third"))
    plugin.fails = False
    record = Record()
    framework.schedule(make_pod("third"), record)

    assert record.feasible is not None
    assert 7 not in record.feasible.tolist()


@pytest.mark.parametrize(
    "answer",
    [lambda nodes: nodes.pod_counts, lambda nodes: np.full(len(nodes), 0.5 if len(nodes) < NODES else 1)],
    ids=["a column of the table", "whole numbers, then broken ones"],
)
def test_scores_are_kept_as_they_were_given(answer: Callable[[Nodes], Scores]) -> None:
    class Scoring:
        local = Local.NODE_AND_PODS

        def score(self, _pod: Pod, nodes: Nodes) -> Scores:
            return answer(nodes)

    cache = cluster()
    framework = make_framework(cache, Scoring=Scoring())
    framework.schedule(make_pod("first"))
    cache.assume(make_pod("first"), "n7")
    record = Record()
    framework.schedule(make_pod("second"), record)

    expected = [answer(Nodes(cache.table, np.array([row])))[0] for row in range(NODES)]
    assert record.scores["Scoring"].tolist()[7] == expected[7]
    assert record.scores["Scoring"].tolist()[8] == answer(Nodes(cache.table))[8]


def test_scores_that_a_plugin_normalizes_in_place_are_kept_as_they_were() -> None:
    class InPlace:
        local = Local.NODE

        def score(self, _pod: Pod, nodes: Nodes) -> Scores:
            return np.arange(len(nodes))

        def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
            scores += 10
            return scores

    framework = make_framework(cluster(), InPlace=InPlace())
    first, second = Record(), Record()
    framework.schedule(make_pod(), first)
    framework.schedule(make_pod(), second)

    assert first.scores["InPlace"].tolist() == second.scores["InPlace"].tolist()
