from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from webhook.scheduling.containment import PluginError
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import FitError, PluginFailure
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod, run_filter, run_score


class Roomy:
    """Wants half of the node's memory free, and likes nodes with few pods."""

    def filter_node(self, _pod: Pod, node: NodeInfo) -> str | None:
        return "node(s) were half full" if node.requested("memory") * 2 > node.allocatable("memory") else None

    def score_node(self, _pod: Pod, node: NodeInfo) -> float:
        return 100 - 10 * len(node.pods)


CACHE = make_cache(
    make_node("free", labels={"disk": "ssd"}, taints=["a=b:NoSchedule"]),
    make_node("full"),
    pods=[make_pod("p", memory="20Gi", node="full")],
)


def test_a_plugin_that_looks_at_one_node_runs_over_all() -> None:
    assert run_filter(Roomy(), make_pod(), CACHE) == {"full": ["node(s) were half full"]}
    assert run_score(Roomy(), make_pod(), CACHE) == {"free": 100, "full": 90}


def test_one_node_shows_labels_taints_and_pods() -> None:
    seen = dict[str, Any]()

    class Looks:
        def score_node(self, _pod: Pod, node: NodeInfo) -> float:
            seen[node.name] = (
                node.labels,
                [taint.key for taint in node.taints],
                [pod.key for pod in node.pods],
            )
            return 0

    run_score(Looks(), make_pod(), CACHE)

    assert seen == {"free": ({"disk": "ssd"}, ["a"], []), "full": ({}, [], ["default/p"])}


class Says:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def filter_node(self, _pod: Pod, node: NodeInfo) -> Any:
        return self._answer(node) if callable(self._answer) else self._answer


@pytest.mark.parametrize("answer", [False, "", b"no"])
def test_an_answer_that_is_no_reason_fails_the_attempt(answer: Any) -> None:
    decision = make_framework(make_cache(make_node("n")), Says=Says(answer)).schedule(make_pod())

    assert isinstance(decision, PluginFailure)
    assert decision.message.endswith(f"filter_node answered {answer!r} for node n, expected a reason or None")


class Gives:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def score_node(self, _pod: Pod, _node: NodeInfo) -> Any:
        return self._answer


@pytest.mark.parametrize("answer", ["50", b"5", True, None, np.bool_(True)])
def test_an_answer_that_is_no_number_fails_the_attempt(answer: Any) -> None:
    with pytest.raises(PluginError, match=r"score_node answered .* for node free, expected a number"):
        run_score(Gives(answer), make_pod(), CACHE)


@pytest.mark.parametrize("answer", [7, 7.0, np.int32(7), np.float32(7), Fraction(7)])
def test_a_score_may_be_any_kind_of_number(answer: Any) -> None:
    assert run_score(Gives(answer), make_pod(), CACHE) == {"free": 7, "full": 7}


def test_reasons_beyond_what_an_answer_can_hold_are_counted_together() -> None:
    cache = make_cache(*(make_node(f"n{index:03}") for index in range(100)))

    decision = make_framework(cache, Says=Says(lambda node: f"{node.name} is full")).schedule(make_pod())

    assert isinstance(decision, FitError)
    assert decision.message.endswith("1 n062 is full, 37 node(s) were rejected by Says for other reasons.")
