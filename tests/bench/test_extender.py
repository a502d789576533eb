from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from bench import extender
from bench.extender import BUDGET_NODES, main, measure


def test_both_extenders_are_asked_about_each_pod() -> None:
    ours, theirs = measure(nodes=20, pods=3)

    assert [len(ours), len(theirs)] == [3, 3]
    assert min(ours) > 0 < min(theirs)


def answer(*options: str) -> tuple[list[str], dict[str, Any]]:
    """Return the lines that are printed, and the last one as an object."""
    ended = CliRunner().invoke(main, options)
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    return lines, json.loads(lines[-1])


@pytest.mark.parametrize(
    ("took", "is_within", "verdict"), [(0.9, True, "within"), (1.1, False, "NOT within")]
)
def test_the_budget_is_held_against_the_median_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, took: float, is_within: bool, verdict: str
) -> None:
    monkeypatch.setattr(extender, "measure", lambda _nodes, _pods: ([took] * 3, [2.0] * 3))

    lines, figure = answer("--nodes", str(BUDGET_NODES))

    assert f"filter+prioritize: {took} ms, {verdict} the budget of 1 ms." in lines
    assert (figure["within"], figure["budget"], figure["ours"]) == (is_within, 1, took)


def test_another_number_of_nodes_is_not_judged() -> None:
    lines, figure = answer("--nodes", "20", "--pods", "3")

    assert "within" not in figure
    assert not any("budget" in line for line in lines)
