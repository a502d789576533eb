from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from bench.clusters import SHAPES, filled_cache, waiting_pods
from bench.decisions import BUDGET_US, PODS_GROWTH, Bench, Case, Timing, cases, figures, growth, main
from bench.plugin_levels import LEVELS, PluginBench
from bench.report import Judged
from webhook.scheduling.outcome import Placement
from webhook.scheduling.testing import make_framework


@pytest.mark.parametrize("shape", SHAPES)
def test_every_decision_of_a_case_finds_a_node(shape: str) -> None:
    samples = Bench(Case(shape=shape, nodes=100)).run(100)

    assert len(samples) == 100
    assert min(samples) > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_the_constraint_of_a_shape_bears_on_the_nodes(shape: str) -> None:
    cache = filled_cache(shape, nodes=1000, pods_per_node=10)

    decision = make_framework(cache).schedule(next(waiting_pods(shape)))

    assert isinstance(decision, Placement)
    expected = {"plain": 1000, "node-affinity": 500, "spread": 500, "anti-affinity": 900, "affinity": 500}
    assert decision.feasible_nodes == expected[shape]


def test_every_node_has_its_pods() -> None:
    cache = filled_cache("plain", nodes=3, pods_per_node=7)

    assert [len(cache.table.pods_on(f"node-{number}")) for number in range(3)] == [7, 7, 7]


@pytest.mark.parametrize("level", LEVELS)
def test_the_plugin_of_the_guide_is_asked_about_each_pod(level: str) -> None:
    samples = PluginBench(level, nodes=20).run(3)

    assert len(samples) == 3
    assert min(samples) > 0


def test_every_shape_has_a_budget_and_so_has_a_plugin_on_each_level() -> None:
    assert set(BUDGET_US) == {*SHAPES, *LEVELS}


def test_the_case_with_a_budget_is_also_measured_with_fewer_and_more_pods() -> None:
    names = {case.name for case in cases((100, 5000))}

    assert {"spread/100", "spread/5000", "spread/5000x1", "spread/5000x20"} <= names
    assert "spread/100x1" not in names


def taking(**p50: float) -> dict[str, Timing]:
    """Return timings of every shape, by what comes after its name: all `fewer`, and those of `plain` as given."""
    names = {"_100": "100", "_1000": "1000", "_15000": "15000", "_x1": "5000x1", "_x20": "5000x20"}
    return {
        f"{shape}/{names[key]}": Timing(p50=took if shape == "plain" else 1.0, p99=took)
        for shape in SHAPES
        for key, took in p50.items()
    }


def grown(timings: dict[str, Timing], *sizes: int) -> list[Judged]:
    return [judged for judged in growth(timings, sizes, runs=5) if judged.case.startswith("plain/")]


def test_time_may_grow_as_the_nodes_do_and_no_more() -> None:
    (linear,) = grown(taking(_100=100, _1000=1000), 100, 1000)
    (steeper,) = grown(taking(_100=100, _1000=1010), 100, 1000)

    assert (linear.case, linear.ours, linear.budget) == ("plain/100-1000", 10, 10)
    assert (linear.within, steeper.within) == (True, False)


def test_of_several_steps_the_one_counts_in_which_time_grows_most() -> None:
    # In all of them together it grows far less than the nodes do.
    (judged,) = grown(taking(_100=100, _1000=100, _15000=1600), 15000, 100, 1000)

    assert (judged.case, judged.ours, judged.budget, judged.within) == ("plain/1000-15000", 16, 15, False)


@pytest.mark.parametrize(("took", "is_within"), [(150, True), (160, False)])
def test_time_may_hardly_grow_with_the_pods_that_are_placed(took: float, is_within: bool) -> None:
    (judged,) = grown(taking(_x1=100, _x20=took), 5000)

    assert (judged.case, judged.budget, judged.within) == ("plain/5000x1-5000x20", PODS_GROWTH, is_within)


def test_a_median_is_judged_at_the_size_that_has_a_budget_alone() -> None:
    timings = {"plain/5000": Timing(p50=401, p99=500), "plain/1000": Timing(p50=401, p99=500)}

    judged = [each for each in figures(timings, runs=5) if isinstance(each, Judged)]

    assert [(each.case, each.unit, each.within) for each in judged] == [("plain/5000", "p50 µs", False)]


def test_the_last_lines_are_json_and_one_for_each_figure() -> None:
    answer = CliRunner().invoke(main, ["--nodes", "100", "--runs", "1", "--decisions", "3"])

    assert answer.exit_code == 0, answer.output
    figures = [json.loads(line) for line in answer.output.splitlines()[-2 * len(SHAPES) :]]
    assert {(figure["case"], figure["unit"]) for figure in figures} == {
        (f"{shape}/100", unit) for shape in SHAPES for unit in ("p50 µs", "p99 µs")
    }
    assert all(
        set(figure) == {"bench", "case", "unit", "ours", "peer", "ratio", "runs"} and figure["ours"] > 0
        for figure in figures
    )
