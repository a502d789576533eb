from __future__ import annotations

import math
from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from webhook.scheduling.testing import make_cache, make_handle, make_node, make_pod, run_score


def balanced(**args: Any) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation(args, make_handle())


def test_an_empty_node_scores_what_kube_scheduler_gives_it() -> None:
    cache = make_cache(make_node("one", cpu="1", memory="32Gi"), make_node("eight", cpu="8", memory="32Gi"))

    assert run_score(balanced(), make_pod(cpu="100m", memory="500Mi"), cache) == {"one": 72, "eight": 74}


def test_a_pod_that_restores_the_balance_is_welcome() -> None:
    node = make_node("n", cpu="10", memory="10Gi")
    cache = make_cache(node, pods=[make_pod("p", cpu="8", node="n")])

    # before: |0.8 - 0| / 2 = 0.4 -> 60; after: |0.8 - 0.4| / 2 = 0.2 -> 80; 50 + (50 + 80 - 60) // 2
    assert run_score(balanced(), make_pod(memory="4Gi"), cache) == {"n": 85}


def test_a_share_above_all_of_the_node_counts_as_all() -> None:
    cache = make_cache(make_node("n", cpu="1", memory="10Gi"), pods=[make_pod("p", cpu="5", node="n")])

    # before: |1 - 0| / 2 -> 50; after: |1 - 0.5| / 2 -> 75
    assert run_score(balanced(), make_pod(memory="5Gi"), cache) == {"n": 87}


def test_with_one_resource_offered_there_is_nothing_to_balance() -> None:
    cache = make_cache(make_node("n", cpu="1", memory="0"))

    assert run_score(balanced(), make_pod(cpu="900m"), cache) == {"n": 75}


def test_a_pod_that_requests_nothing_is_skipped() -> None:
    assert run_score(balanced(), make_pod(), make_cache(make_node("n"))) == {"n": 0}


def test_more_than_two_resources_use_the_standard_deviation() -> None:
    resources = [{"name": name, "weight": 1} for name in ("cpu", "memory", "example.com/gpu")]
    gpus = {"example.com/gpu": "10"}
    cache = make_cache(
        make_node("three", cpu="10", memory="10Gi", resources=gpus), make_node("two", cpu="10", memory="10Gi")
    )

    scores = run_score(
        balanced(resources=resources), make_pod(cpu="6", requests={"example.com/gpu": "3"}), cache
    )

    deviation = math.sqrt(((0.6 - 0.3) ** 2 + (0 - 0.3) ** 2 + (0.3 - 0.3) ** 2) / 3)
    assert scores["three"] == 50 + (50 + int((1 - deviation) * 100) - 100) // 2
    assert scores["two"] == 50 + (50 + 70 - 100) // 2


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        (
            [{"name": "cpu"}, {"name": "memory"}, {"name": "cpu"}],
            r"resources\[2\]\.name: cpu is there more than once",
        ),
        (
            [{"name": "cpu", "weight": 2}],
            r"resources\[0\]\.weight: expected 1, all resources count alike here, got 2",
        ),
        ([], "resources: Expected `array` of length >= 1"),
    ],
)
def test_wrong_arguments_are_refused_with_their_place(resources: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"arguments of NodeResourcesBalancedAllocation: {fault}"):
        balanced(resources=resources)
