from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.containment import PluginError
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import PluginFailure
from webhook.scheduling.plugin import Local, Scores
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod, run_filter, run_score

CACHE = make_cache(make_node("a"), make_node("b"), make_node("c"))
LEFT_OUT = ["node(s) didn't satisfy plugin(s) [Picks]"]


class Picks:
    """Answers at PreFilter what it was told to."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def pre_filter(self, _pod: Pod, _nodes: Nodes) -> Any:
        return self._answer


class Filters(Picks):
    reasons = (Reason(Code.UNSCHEDULABLE, "not a"),)

    def filter(self, _pod: Pod, nodes: Nodes) -> npt.NDArray[np.bool_]:
        return nodes.named(["a"])


class Scores50:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def pre_score(self, _pod: Pod, _nodes: Nodes) -> Any:
        return self._answer

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        return np.full(len(nodes), 50)


def test_node_names_of_a_pre_filter_leave_out_all_others() -> None:
    assert run_filter(Filters(frozenset("ab")), make_pod(), CACHE) == {
        "b": ["not a"],
        "c": ["node(s) didn't satisfy plugin(s) [Filters]"],
    }


def test_a_plugin_may_have_a_pre_filter_alone() -> None:
    assert run_filter(Picks(frozenset("a")), make_pod(), CACHE) == {"b": LEFT_OUT, "c": LEFT_OUT}
    assert run_filter(Picks(SUCCESS), make_pod(), CACHE) == {}


def test_a_pod_that_a_pre_filter_rejects_goes_nowhere() -> None:
    rejecting = Picks(Status(Code.UNSCHEDULABLE, ("no such claim",)))

    assert run_filter(rejecting, make_pod(), CACHE) == {name: ["no such claim"] for name in "abc"}


def test_a_filter_that_skips_the_pod_rejects_nothing() -> None:
    assert run_filter(Filters(SKIP), make_pod(), CACHE) == {}


def test_a_score_that_skips_the_pod_is_nought() -> None:
    assert run_score(Scores50(SKIP), make_pod(), CACHE) == {"a": 0, "b": 0, "c": 0}


def assert_fails_alike(run: Callable[[Any, Pod, Cache], object], plugin: object) -> None:
    failure = make_framework(CACHE, **{type(plugin).__name__: plugin}).schedule(make_pod())
    assert isinstance(failure, PluginFailure)

    with pytest.raises(PluginError) as caught:
        run(plugin, make_pod(), CACHE)

    assert str(caught.value) == failure.message


@pytest.mark.parametrize("answer", [None, True, Status(Code.WAIT), Status(Code.UNSCHEDULABLE)])
def test_what_fails_a_decision_at_pre_filter_fails_here_alike(answer: Any) -> None:
    assert_fails_alike(run_filter, Picks(answer))


@pytest.mark.parametrize("answer", [None, Status(Code.UNSCHEDULABLE, ("no",)), Status(Code.ERROR, ("no",))])
def test_what_fails_a_decision_at_pre_score_fails_here_alike(answer: Any) -> None:
    assert_fails_alike(run_score, Scores50(answer))


def test_a_local_plugin_gets_the_pod_that_the_scheduler_shows_it() -> None:
    class ByName:
        local = Local.NODE

        def score(self, pod: Pod, nodes: Nodes) -> Scores:
            return np.full(len(nodes), len(pod.metadata.name))

    with pytest.raises(PluginError, match=r"can't read metadata\.name"):
        run_score(ByName(), make_pod(), CACHE)


def test_scores_that_all_nodes_have_alike_are_told() -> None:
    class Alike:
        local = Local.NODE

        def score(self, _pod: Pod, nodes: Nodes) -> Scores:
            return np.full(len(nodes), 500)

        def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
            return scores // 10

    assert run_score(Alike(), make_pod(), CACHE) == {"a": 50, "b": 50, "c": 50}


def test_without_nodes_nothing_is_said() -> None:
    empty = make_cache()

    assert run_filter(Filters(SUCCESS), make_pod(), empty) == {}
    assert run_score(Scores50(SUCCESS), make_pod(), CACHE, only=[]) == {}


def test_a_plugin_without_the_method_is_no_filter_and_no_score() -> None:
    with pytest.raises(AssertionError, match="has none of pre_filter, filter and filter_node"):
        run_filter(Scores50(SUCCESS), make_pod(), CACHE)
    with pytest.raises(AssertionError, match="has neither score nor score_node"):
        run_score(Picks(SUCCESS), make_pod(), CACHE)
