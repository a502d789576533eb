from __future__ import annotations

import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.memory_forecast import predicted_memory
from webhook.scheduling.objects import NodeMetrics
from webhook.scheduling.testing import make_cache, make_node, make_node_metrics, make_pod

MIB = 2**20
GIB = 2**30


def begun(*names: str) -> Cache:
    cache = make_cache(*(make_node(name) for name in names), clock=lambda: 0.0)
    cache.memory.begin()
    return cache


def with_limit(request: str | None, *limits: str | None) -> dict[str, object]:
    return {
        "containers": [
            {
                "name": f"c{index}",
                "resources": {
                    "requests": {"memory": request} if request else {},
                    "limits": {"memory": limit} if limit else {},
                },
            }
            for index, limit in enumerate(limits)
        ]
    }


@pytest.mark.parametrize(
    ("request_", "limits", "predicted"),
    [
        (None, [None], 200 * MIB),
        ("50Mi", [None], 200 * MIB),
        ("1Gi", [None], GIB),
        ("50Mi", ["100Mi"], 100 * MIB),
        ("50Mi", ["100Mi", None], 200 * MIB),
        ("50Mi", ["80Mi", "90Mi"], 170 * MIB),
    ],
)
def test_a_pod_is_predicted_to_use_its_request_between_200_mib_and_its_limit(
    request_: str | None, limits: list[str | None], predicted: int
) -> None:
    assert predicted_memory(make_pod(spec=with_limit(request_, *limits))) == predicted


def test_the_limit_of_the_whole_pod_goes_before_those_of_its_containers() -> None:
    spec = {**with_limit("50Mi", "80Mi"), "resources": {"limits": {"memory": "150Mi"}}}

    assert predicted_memory(make_pod(spec=spec)) == 150 * MIB


def test_no_account_is_kept_before_a_plugin_asks_for_it() -> None:
    cache = make_cache(make_node("node"))
    cache.assume(make_pod(memory="1Gi"), "node")

    cache.memory.begin()

    assert cache.memory.estimates().tolist() == [0]


def test_a_pod_met_running_is_taken_for_measured() -> None:
    cache = begun("node")
    cache.set_pod(make_pod(memory="1Gi", node="node", status={"phase": "Running"}))
    cache.memory.measure([make_node_metrics("node", memory="3Gi")])

    assert cache.memory.estimates().tolist() == [3 * GIB]


def test_a_pod_that_begins_to_run_stays_predicted() -> None:
    cache = begun("node")
    cache.memory.measure([make_node_metrics("node", memory="3Gi")])
    cache.assume(make_pod(memory="1Gi"), "node")

    cache.set_pod(make_pod(memory="1Gi", node="node", status={"phase": "Running"}))

    assert cache.memory.estimates().tolist() == [4 * GIB]


def test_a_pod_that_turns_up_on_another_node_counts_there() -> None:
    cache = begun("first", "second")
    cache.memory.measure([make_node_metrics(name, memory="3Gi") for name in ("first", "second")])
    cache.assume(make_pod(memory="1Gi"), "first")

    cache.set_pod(make_pod(memory="1Gi", node="second"))

    assert cache.memory.estimates().tolist() == [3 * GIB, 4 * GIB]


def test_rows_follow_their_nodes_as_others_are_removed() -> None:
    cache = begun("first", "second", "third")
    cache.memory.measure([make_node_metrics("first", memory="1Gi"), make_node_metrics("third", memory="3Gi")])

    cache.remove_node("first")

    by_name = {
        cache.table.node(row).name: (int(estimate), float(age))
        for row, (estimate, age) in enumerate(zip(cache.memory.estimates(), cache.memory.ages(), strict=True))
    }
    assert by_name == {"second": (0, float("inf")), "third": (3 * GIB, 0.0)}


def test_another_node_under_the_same_name_is_not_measured_yet() -> None:
    cache = begun("node")
    cache.memory.measure([make_node_metrics("node", memory="3Gi")])

    cache.remove_node("node")
    cache.set_node(make_node("node"))

    assert cache.memory.ages().tolist() == [float("inf")]


def test_a_node_measured_before_it_is_known_counts_when_it_is() -> None:
    cache = begun()
    cache.memory.measure([make_node_metrics("late", memory="3Gi")])

    cache.set_node(make_node("late"))

    assert cache.memory.estimates().tolist() == [3 * GIB]


def test_more_nodes_than_the_columns_had_room_for_are_measured() -> None:
    names = [f"node-{index}" for index in range(200)]
    cache = begun(*names)

    cache.memory.measure(make_node_metrics(name, memory="3Gi") for name in names)

    assert cache.memory.estimates().tolist() == [3 * GIB] * 200


def test_a_measurement_without_memory_is_left_out() -> None:
    cache = begun("node")

    cache.memory.measure([NodeMetrics(), make_node_metrics("node", memory="much")])

    assert cache.memory.ages().tolist() == [float("inf")]


@pytest.mark.parametrize(("window", "counted"), [("1m30s", True), ("200ms", False), ("?", True), ("", True)])
def test_a_pod_counts_as_long_as_the_window_may_have_begun_before_it_ran(window: str, counted: bool) -> None:
    now = 0.0
    cache = make_cache(make_node("node"), clock=lambda: now)
    cache.memory.begin()
    cache.memory.measure([make_node_metrics("node", memory="3Gi", timestamp="first")])
    cache.assume(make_pod(memory="1Gi"), "node")

    now = 40.0
    cache.memory.measure([make_node_metrics("node", memory="3Gi", timestamp="second", window=window)])

    assert cache.memory.estimates().tolist() == [(4 if counted else 3) * GIB]


def test_estimates_never_fall_below_nothing() -> None:
    old = make_pod(memory="8Gi", node="node", status={"phase": "Running"})
    cache = make_cache(make_node("node"), pods=[old])
    cache.memory.begin()
    cache.memory.measure([make_node_metrics("node", memory="1Gi")])

    cache.remove_pod(old)

    assert cache.memory.estimates().tolist() == [0]
