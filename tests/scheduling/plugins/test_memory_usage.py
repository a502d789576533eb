from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.clocks import SetClock
from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugins.memory_usage import MemoryUsage
from webhook.scheduling.profile import build_framework
from webhook.scheduling.testing import (
    make_cache,
    make_handle,
    make_node,
    make_node_metrics,
    make_pod,
    run_score,
)

GIB = 2**30


@pytest.fixture
def clock() -> SetClock[float]:
    return SetClock(1000.0)


def cluster(clock: SetClock[float], *names: str) -> Cache:
    return make_cache(*(make_node(name, memory="32Gi", cpu="64") for name in names), clock=clock)


def plugin(cache: Cache, **args: object) -> MemoryUsage:
    return MemoryUsage(args, make_handle(cache))


def measure(cache: Cache, usage: Mapping[str, str], timestamp: str = "first") -> None:
    cache.memory.measure(
        make_node_metrics(name, memory=memory, timestamp=timestamp) for name, memory in usage.items()
    )


def placed(name: str, node: str, memory: str = "1Gi", phase: str = "Pending") -> Pod:
    return make_pod(name, memory=memory, node=node, status={"phase": phase})


def test_the_node_with_the_least_memory_in_use_is_liked_best(clock: SetClock[float]) -> None:
    cache = cluster(clock, "full", "half", "free")
    memory_usage = plugin(cache)
    measure(cache, {"full": "32Gi", "half": "16Gi", "free": "0"})

    # With the pod's own 1.6 GiB, 5 % of the node; scores are rounded down.
    assert run_score(memory_usage, make_pod(memory="1638Mi"), cache) == {"full": 0, "half": 45, "free": 95}


def test_a_burst_between_two_measurements_spreads_evenly(clock: SetClock[float]) -> None:
    names = [f"node-{index}" for index in range(10)]
    cache = cluster(clock, *names)
    only_memory_usage = PluginSetConfig(
        enabled=(PluginRef(name="MemoryUsage"),), disabled=(PluginRef(name="*"),)
    )
    profile = Profile(plugins=PluginsConfig(score=only_memory_usage))
    framework = build_framework(profile, load_plugins(), cache, random.Random(0))
    measure(cache, dict.fromkeys(names, "4Gi"))

    chosen: Counter[str] = Counter()
    for index in range(100):
        pod = make_pod(f"pod-{index}", memory="512Mi")
        decision = framework.schedule(pod)
        assert isinstance(decision, Placement)
        cache.assume(pod, decision.node_name)
        chosen[decision.node_name] += 1

    assert chosen == dict.fromkeys(names, 10)


def test_a_node_that_is_not_measured_gets_its_share(clock: SetClock[float]) -> None:
    cache = make_cache(
        *(make_node(name, memory="32Gi") for name in ("measured", "absent")),
        pods=[placed("a", "measured", "8Gi", "Running"), placed("b", "absent", "8Gi", "Running")],
        clock=clock,
    )
    memory_usage = plugin(cache)
    measure(cache, {"measured": "8Gi"})

    scores = run_score(memory_usage, make_pod(memory="1Gi"), cache)

    assert scores["absent"] == scores["measured"] > 0


def test_old_measurements_leave_what_is_requested(clock: SetClock[float]) -> None:
    pods = [placed("a", "busy", "16Gi", "Running"), placed("b", "idle", "1Gi", "Running")]
    nodes = [make_node(name, memory="32Gi") for name in ("busy", "idle")]
    cache = make_cache(*nodes, pods=pods, clock=clock)
    memory_usage = plugin(cache)
    measure(cache, {"busy": "1Gi", "idle": "30Gi"})
    unmeasured = make_cache(*nodes, pods=pods, clock=clock)

    clock.now += 600

    pod = make_pod(memory="1Gi")
    assert run_score(memory_usage, pod, cache) == run_score(plugin(unmeasured), pod, unmeasured)


def test_trust_in_a_measurement_fades_between_two_resolutions_and_its_expiry(clock: SetClock[float]) -> None:
    cache = cluster(clock, "node")
    memory_usage = plugin(cache, expirySeconds=100, resolutionSeconds=10)
    measure(cache, {"node": "16Gi"})
    pod = make_pod(memory="200Mi")

    scores = []
    for age in (0, 20, 60, 100):
        clock.now = 1000 + age
        scores.append(run_score(memory_usage, pod, cache)["node"])

    assert scores == [49, 49, 74, 99]


def test_a_failed_bind_takes_the_prediction_out_again(clock: SetClock[float]) -> None:
    cache = cluster(clock, "node")
    memory_usage = plugin(cache)
    measure(cache, {"node": "8Gi"})
    incoming = make_pod("incoming", memory="1Gi")
    before = run_score(memory_usage, incoming, cache)

    assumed = make_pod("assumed", memory="8Gi")
    cache.assume(assumed, "node")
    during = run_score(memory_usage, incoming, cache)
    cache.forget(assumed)

    assert during["node"] < before["node"]
    assert run_score(memory_usage, incoming, cache) == before


def test_a_deleted_pod_falls_out_of_the_estimate_at_once(clock: SetClock[float]) -> None:
    old = placed("old", "node", "8Gi", "Running")
    cache = make_cache(make_node("node", memory="32Gi"), pods=[old], clock=clock)
    plugin(cache)
    measure(cache, {"node": "10Gi"})

    cache.remove_pod(old)

    assert cache.memory.estimates().tolist() == [2 * GIB]


def test_what_is_gone_is_not_counted_off_a_measurement_that_came_after(clock: SetClock[float]) -> None:
    old = placed("old", "node", "8Gi", "Running")
    cache = make_cache(make_node("node", memory="32Gi"), pods=[old], clock=clock)
    plugin(cache)
    measure(cache, {"node": "10Gi"})
    cache.remove_pod(old)

    clock.now += 15
    measure(cache, {"node": "2Gi"}, "second")

    assert cache.memory.estimates().tolist() == [2 * GIB]


def test_a_clock_that_is_wrong_where_metrics_are_made_changes_nothing(clock: SetClock[float]) -> None:
    scores = []
    for timestamp in ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "1970-01-01T00:00:00Z"):
        cache = cluster(clock, "node")
        memory_usage = plugin(cache)
        measure(cache, {"node": "8Gi"}, timestamp)
        scores.append(run_score(memory_usage, make_pod(), cache))

    assert scores[0] == scores[1] == scores[2]


def test_a_pod_placed_well_before_the_measurement_counts_once(clock: SetClock[float]) -> None:
    cache = cluster(clock, "node")
    plugin(cache)
    measure(cache, {"node": "8Gi"})
    cache.assume(make_pod("new", memory="4Gi"), "node")

    clock.now += 15
    measure(cache, {"node": "8Gi"}, "begun before the pod was there")
    soon_after = cache.memory.estimates().tolist()
    clock.now += 60
    measure(cache, {"node": "12Gi"}, "begun long after")

    assert soon_after == [12 * GIB]
    assert cache.memory.estimates().tolist() == [12 * GIB]


def test_the_same_measurement_read_twice_is_no_news(clock: SetClock[float]) -> None:
    cache = cluster(clock, "node")
    plugin(cache)
    measure(cache, {"node": "8Gi"})

    clock.now += 60
    measure(cache, {"node": "8Gi"})

    assert cache.memory.ages().tolist() == [60]


def test_more_than_twice_the_resolution_has_to_be_the_expiry() -> None:
    with pytest.raises(ConfigurationError, match=r"MemoryUsage: expirySeconds: expected more than .* \(30\)"):
        plugin(make_cache(), expirySeconds=30)


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="arguments of MemoryUsage"):
        plugin(make_cache(), expiry=30)
