from __future__ import annotations

import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.outcome import FitError, Placement
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod


def cpu(cache: Cache) -> dict[str, int]:
    nodes = Nodes(cache.table)
    return dict(zip(nodes.names, nodes.requested("cpu").tolist(), strict=True))


def test_a_pod_counts_on_its_node_whoever_scheduled_it() -> None:
    cache = make_cache(make_node("n"))

    cache.set_pod(make_pod(cpu="1", node="n", spec={"schedulerName": "default-scheduler"}))

    assert cpu(cache) == {"n": 1000}


def test_a_pod_without_a_node_does_not_count() -> None:
    assert cpu(make_cache(make_node("n"), pods=[make_pod(cpu="1")])) == {"n": 0}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_frees_its_node_for_the_next(phase: str) -> None:
    cache = make_cache(make_node("n", cpu="1"), pods=[make_pod("first", cpu="1", node="n")])
    framework, following = make_framework(cache), make_pod("next", cpu="1")
    assert isinstance(framework.schedule(following), FitError)

    cache.set_pod(make_pod("first", cpu="1", node="n", status={"phase": phase}))

    assert isinstance(framework.schedule(following), Placement)


def test_a_terminating_pod_holds_its_node_until_it_is_gone() -> None:
    cache = make_cache(make_node("n", cpu="1"))
    ending = make_pod("e", cpu="1", node="n", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    cache.set_pod(ending)
    held = cpu(cache)
    cache.remove_pod(ending)

    assert held == {"n": 1000}
    assert cpu(cache) == {"n": 0}


def test_the_same_event_twice_counts_once() -> None:
    cache = make_cache(make_node("n"))
    pod = make_pod(cpu="1", node="n")

    for _ in range(2):
        cache.set_pod(pod)
    counted = cpu(cache)
    for _ in range(2):
        cache.remove_pod(pod)

    assert counted == {"n": 1000}
    assert cpu(cache) == {"n": 0}


def test_an_update_replaces_what_a_pod_holds() -> None:
    cache = make_cache(make_node("n"), pods=[make_pod(cpu="1", node="n")])

    cache.set_pod(make_pod(cpu="250m", node="n"))

    assert cpu(cache) == {"n": 250}


def test_an_assumed_pod_counts_at_once_and_once_when_the_watch_confirms_it() -> None:
    cache = make_cache(make_node("n"))
    cache.assume(make_pod(cpu="1"), "n")
    assumed = cpu(cache)

    cache.set_pod(make_pod(cpu="1"))  # the watch is behind
    cache.set_pod(make_pod(cpu="1", node="n"))

    assert assumed == cpu(cache) == {"n": 1000}
    assert not cache.is_assumed("uid-of-default/pod")


def test_an_assumed_pod_that_turns_up_elsewhere_counts_there() -> None:
    cache = make_cache(make_node("ours"), make_node("theirs"))
    cache.assume(make_pod(cpu="1"), "ours")

    cache.set_pod(make_pod(cpu="1", node="theirs"))

    assert cpu(cache) == {"ours": 0, "theirs": 1000}


def test_forgetting_gives_back_what_was_assumed() -> None:
    cache = make_cache(make_node("n"))
    pod = make_pod(cpu="1")
    cache.assume(pod, "n")

    cache.forget(pod)

    assert cpu(cache) == {"n": 0}
    assert cache.node_of(pod.metadata.uid) is None


def test_forgetting_after_the_watch_confirmed_changes_nothing() -> None:
    cache = make_cache(make_node("n"))
    cache.assume(make_pod(cpu="1"), "n")
    cache.set_pod(make_pod(cpu="1", node="n"))

    cache.forget(make_pod(cpu="1"))

    assert cpu(cache) == {"n": 1000}


def test_an_assumed_pod_that_is_deleted_before_it_is_bound_counts_no_more() -> None:
    cache = make_cache(make_node("n"))
    cache.assume(make_pod(cpu="1"), "n")

    cache.remove_pod(make_pod(cpu="1"))
    cache.forget(make_pod(cpu="1"))

    assert cpu(cache) == {"n": 0}


def test_assuming_a_pod_that_has_a_node_is_refused() -> None:
    cache = make_cache(make_node("n"))
    cache.assume(make_pod(), "n")

    with pytest.raises(ValueError, match="default/pod already is on node n"):
        cache.assume(make_pod(), "n")


def test_a_recreated_pod_of_the_same_name_is_another_pod() -> None:
    cache = make_cache(make_node("n"), pods=[make_pod("web-0", cpu="1", node="n")])
    recreated = make_pod("web-0", cpu="2", node="n", metadata={"uid": "another"})

    cache.set_pod(recreated)
    both = cpu(cache)
    cache.remove_pod(make_pod("web-0", cpu="1"))

    assert both == {"n": 3000}
    assert cpu(cache) == {"n": 2000}


def test_a_node_that_is_recreated_counts_the_pods_that_stayed_on_it() -> None:
    cache = make_cache(make_node("n"), pods=[make_pod(cpu="1", host_ports=[80], node="n")])
    framework = make_framework(cache)

    cache.remove_node("n")
    unknown = cache.node_uid("n")
    cache.set_node(make_node("n"))

    assert unknown is None
    assert cpu(cache) == {"n": 1000}
    assert isinstance(framework.schedule(make_pod("other", host_ports=[80])), FitError)


def test_pods_may_be_seen_before_their_node() -> None:
    cache = Cache()
    cache.set_pod(make_pod(cpu="1", node="n"))

    cache.set_node(make_node("n"))

    assert cpu(cache) == {"n": 1000}


def test_the_uid_of_a_node_is_that_of_the_one_that_has_the_name_now() -> None:
    assert make_cache(make_node("n")).node_uid("n") == "uid-of-n"


def test_two_pods_that_want_one_port_are_told_apart_before_the_watch_shows_the_first() -> None:
    cache = make_cache(make_node("n"))
    framework = make_framework(cache)
    first, second = (make_pod(name, host_ports=[80]) for name in ("first", "second"))

    placement = framework.schedule(first)
    assert isinstance(placement, Placement)
    cache.assume(first, placement.node_name)

    waiting = framework.schedule(second)
    cache.forget(first)

    assert isinstance(waiting, FitError)
    assert isinstance(framework.schedule(second), Placement)
