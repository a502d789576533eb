from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.outcome import FitError
from webhook.scheduling.plugins.node_resources_fit import NodeResourcesFit
from webhook.scheduling.status import Code
from webhook.scheduling.testing import (
    make_cache,
    make_framework,
    make_handle,
    make_node,
    make_pod,
    run_filter,
    run_score,
)


def fit(**args: Any) -> NodeResourcesFit:
    return NodeResourcesFit(args, make_handle())


def test_what_is_left_must_be_enough() -> None:
    cache = make_cache(
        make_node("exact", cpu="2"),
        make_node("short", cpu="1999m"),
        pods=[make_pod("p", cpu="1", node="exact")],
    )

    assert run_filter(fit(), make_pod(cpu="1"), cache) == {}
    assert run_filter(fit(), make_pod(cpu="1001m"), cache) == {"exact": ["Insufficient cpu"]}
    assert set(run_filter(fit(), make_pod(cpu="2"), cache)) == {"exact", "short"}


def test_every_reason_is_given() -> None:
    cache = make_cache(
        make_node("n", cpu="1", memory="1Gi", pods="0", resources={"ephemeral-storage": "1Gi"})
    )
    pod = make_pod(cpu="2", memory="2Gi", requests={"ephemeral-storage": "2Gi", "example.com/gpu": "1"})

    assert run_filter(fit(), pod, cache)["n"] == [
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient example.com/gpu",
    ]


def test_the_number_of_pods_counts_even_for_a_pod_that_requests_nothing() -> None:
    cache = make_cache(make_node("n", pods="1"), pods=[make_pod("p", node="n")])

    assert run_filter(fit(), make_pod(), cache) == {"n": ["Too many pods"]}


def test_a_pod_that_requests_nothing_fits_an_overcommitted_node() -> None:
    cache = make_cache(make_node("n", cpu="1"), pods=[make_pod("p", cpu="5", node="n")])

    assert run_filter(fit(), make_pod(requests={"cpu": "0"}), cache) == {}


def test_preemption_can_not_help_where_the_whole_node_is_too_small() -> None:
    cache = make_cache(
        make_node("small", cpu="1"),
        make_node("full", cpu="4"),
        make_node("whole", cpu="2"),
        make_node("both", cpu="4", memory="1Gi"),
        pods=[
            make_pod("p", cpu="3", node="full"),
            make_pod("q", cpu="3", node="both"),
            make_pod("r", cpu="1", node="whole"),
        ],
    )

    decision = make_framework(cache).schedule(make_pod(cpu="2", memory="2Gi"))

    assert isinstance(decision, FitError)
    codes = dict(zip(Nodes(cache.table).names, decision.diagnosis.codes().tolist(), strict=True))
    assert codes == {
        "small": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "full": Code.UNSCHEDULABLE,
        "whole": Code.UNSCHEDULABLE,
        "both": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    }


def test_ignored_extended_resources_are_not_looked_at() -> None:
    cache = make_cache(make_node("n"))
    pod = make_pod(requests={"a.example/x": "1", "b.example/y": "1", "c.example/z": "1"})

    plugin = fit(ignoredResources=["a.example/x"], ignoredResourceGroups=["b.example"])

    assert run_filter(plugin, pod, cache) == {"n": ["Insufficient c.example/z"]}


def test_an_empty_node_scores_what_kube_scheduler_gives_it() -> None:
    cache = make_cache(make_node("one", cpu="1", memory="32Gi"), make_node("eight", cpu="8", memory="32Gi"))

    assert run_score(fit(), make_pod(cpu="100m", memory="500Mi"), cache) == {"one": 94, "eight": 98}


def test_placed_pods_without_requests_count_with_defaults() -> None:
    node = make_node("n", cpu="1", memory="2000Mi")
    cache = make_cache(node, pods=[make_pod(f"p{i}", node="n") for i in range(2)])

    # 300 of 1000 millicores and 600 of 2000 MiB would be held: 70 percent of both stay free.
    assert run_score(fit(), make_pod(), cache) == {"n": 70}


def test_a_resource_that_would_be_overcommitted_gives_nothing_and_one_not_offered_does_not_count() -> None:
    over = make_node("over", cpu="1", memory="1000Mi")
    without = make_node("without", cpu="1", memory="0")
    cache = make_cache(over, without, pods=[make_pod("p", cpu="1", node="over")])

    # over: no cpu and 60 percent of memory stay free; without: cpu alone counts, 90 percent.
    assert run_score(fit(), make_pod(cpu="100m", memory="200Mi"), cache) == {"over": 30, "without": 90}


def test_resources_weigh_as_configured_and_extended_ones_only_if_requested() -> None:
    resources = [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}]
    plugin = fit(scoringStrategy={"type": "LeastAllocated", "resources": resources})
    cache = make_cache(make_node("n", cpu="1", resources={"example.com/gpu": "4"}))

    # cpu 50; gpu 75: (150 + 75) // 4
    assert run_score(plugin, make_pod(cpu="500m", requests={"example.com/gpu": "1"}), cache) == {"n": 56}
    assert run_score(plugin, make_pod(cpu="500m"), cache) == {"n": 50}


def ratio(*points: tuple[int, int], **more: Any) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}, **more}


def test_the_fuller_node_can_be_liked_more() -> None:
    cache = make_cache(
        make_node("n", cpu="1", memory="1000Mi"),
        make_node("over", cpu="1", memory="1000Mi"),
        make_node("without", cpu="1", memory="0"),
        pods=[make_pod("p", cpu="1", node="over")],
    )
    plugin = fit(scoringStrategy={"type": "MostAllocated"})

    # n: 25 and 40 percent in use; over: 100, though more is requested, and 60; without: cpu alone.
    assert run_score(plugin, make_pod(cpu="250m", memory="400Mi"), cache) == {
        "n": 32,
        "over": 80,
        "without": 25,
    }


def test_a_shape_can_say_what_each_utilization_is_worth() -> None:
    cache = make_cache(
        *(make_node(f"n{percent}", cpu="1", memory="0") for percent in (10, 40, 70, 99)),
        pods=[
            make_pod(f"p{percent}", cpu=f"{percent * 10}m", node=f"n{percent}")
            for percent in (10, 40, 70, 99)
        ],
    )
    plugin = fit(scoringStrategy=ratio((20, 0), (60, 10), (90, 1)))

    # At 11: 0. At 41: 100 * 21 / 40. At 71: 100 - 90 * 11 / 30. At 100: as at 90.
    assert run_score(plugin, make_pod(cpu="10m"), cache) == {"n10": 0, "n40": 52, "n70": 67, "n99": 10}


def test_on_a_falling_line_fractions_are_cut_towards_the_higher_score() -> None:
    cache = make_cache(make_node("n", cpu="1", memory="0"))

    # 100 - 100 * 50 / 60 = 16.7, but Go cuts the 83.3.
    assert run_score(fit(scoringStrategy=ratio((0, 10), (60, 0))), make_pod(cpu="500m"), cache) == {"n": 17}


def test_a_resource_that_the_shape_gives_nothing_does_not_count_and_the_mean_is_rounded() -> None:
    cache = make_cache(make_node("n", cpu="1", memory="1000Mi"))
    steps = ratio((0, 0), (50, 0), (100, 10))

    # cpu 20 percent: 0. memory 75 percent: 50.
    assert run_score(fit(scoringStrategy=steps), make_pod(cpu="200m", memory="750Mi"), cache) == {"n": 50}
    # cpu 51 percent: 2. memory 75 percent: 50. (2 + 3 * 50) / 4 and (3 * 2 + 50) / 4 are 38 and 14; 3.5 is 4.
    pod = make_pod(cpu="510m", memory="750Mi")
    for weights, score in (((1, 3), 38), ((3, 1), 14), ((31, 1), 4)):
        resources = [{"name": "cpu", "weight": weights[0]}, {"name": "memory", "weight": weights[1]}]
        strategy = ratio((0, 0), (50, 0), (100, 10), resources=resources)
        assert run_score(fit(scoringStrategy=strategy), pod, cache) == {"n": score}


def test_a_pod_that_requests_none_of_the_resources_to_score_leaves_all_nodes_alike() -> None:
    resources = [{"name": "example.com/gpu", "weight": 1}]
    cache = make_cache(make_node("n", resources={"example.com/gpu": "4"}))

    for strategy in ({"type": "LeastAllocated"}, {"type": "MostAllocated"}, ratio((0, 10))):
        plugin = fit(scoringStrategy={**strategy, "resources": resources})
        assert run_score(plugin, make_pod(cpu="1"), cache) == {"n": 0}


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"scoringStrategy": {"type": "Fullest"}}, r"scoringStrategy\.type: .*Fullest"),
        (
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            r"scoringStrategy\.requestedToCapacityRatio: set it, the type is RequestedToCapacityRatio",
        ),
        (
            {"scoringStrategy": {**ratio((0, 1)), "type": "MostAllocated"}},
            r"scoringStrategy\.requestedToCapacityRatio: leave it out, the type is MostAllocated",
        ),
        ({"scoringStrategy": ratio()}, r"scoringStrategy\.requestedToCapacityRatio\.shape: "),
        ({"scoringStrategy": ratio((0, 11))}, r"shape\[0\]\.score: Expected `int` <= 10"),
        ({"scoringStrategy": ratio((101, 1))}, r"shape\[0\]\.utilization: Expected `int` <= 100"),
        (
            {"scoringStrategy": ratio((0, 1), (50, 2), (50, 3))},
            r"shape\[2\]\.utilization: expected more than 50, the one before, got 50",
        ),
        (
            {"ignoredResourceGroups": ["example.com/gpu"]},
            "ignoredResourceGroups: example.com/gpu is no group; leave out the / and what follows",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_their_place(args: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"arguments of NodeResourcesFit: .*{fault}"):
        fit(**args)
