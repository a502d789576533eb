from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import Namespace, Node, Pod
from webhook.scheduling.outcome import FitError, Placement
from webhook.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from webhook.scheduling.testing import (
    make_cache,
    make_framework,
    make_handle,
    make_node,
    make_pod,
    run_filter,
    run_score,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NOT_NEAR = ["node(s) didn't match pod affinity rules"]
TOO_NEAR = ["node(s) didn't match pod anti-affinity rules"]
REPELLED = ["node(s) didn't satisfy existing pods anti-affinity rules"]


def to(app: str, key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def preferring(weight: int, term: dict[str, Any]) -> dict[str, Any]:
    kind = "podAffinity" if weight > 0 else "podAntiAffinity"
    return {kind: {PREFERRED: [{"weight": abs(weight), "podAffinityTerm": term}]}}


def pod(app: str, affinity: dict[str, Any] | None = None, node: str = "", **more: Any) -> Pod:
    return make_pod(
        more.pop("name", f"{app}-{node}"), node=node, labels={"app": app}, spec={"affinity": affinity}, **more
    )


def zoned(**zones: str) -> list[Node]:
    """Nodes by name, each in its zone."""
    return [make_node(name, labels={"zone": zone, "host": name}) for name, zone in zones.items()]


def plugin(cache: Cache, **args: Any) -> InterPodAffinity:
    return InterPodAffinity(args, make_handle(cache))


def rejected(incoming: Pod, cache: Cache) -> dict[str, list[str]]:
    return run_filter(plugin(cache), incoming, cache)


def scores(incoming: Pod, cache: Cache, **args: Any) -> dict[str, float]:
    return run_score(plugin(cache, **args), incoming, cache)


NODES = zoned(a="1", b="1", c="2")


def test_a_required_neighbour_must_be_in_the_domain() -> None:
    cache = make_cache(*NODES, make_node("bare"), pods=[pod("db", node="a")])

    assert rejected(pod("web", near(to("db"))), cache) == {"c": NOT_NEAR, "bare": NOT_NEAR}
    assert rejected(pod("web", near(to("db", "host"))), cache) == dict.fromkeys(["b", "c", "bare"], NOT_NEAR)
    assert rejected(pod("web", near(to("cache"))), cache) == dict.fromkeys(["a", "b", "c", "bare"], NOT_NEAR)


def test_one_neighbour_must_be_what_all_terms_ask_for() -> None:
    both = {"matchLabels": {"tier": "x"}}
    cache = make_cache(
        *NODES, pods=[pod("db", node="a"), make_pod("other", node="a", labels={"app": "cache", "tier": "x"})]
    )
    two_terms = near(to("db"), {"topologyKey": "zone", "labelSelector": both})

    apart_from_each_other = rejected(pod("web", two_terms), cache)
    cache.set_pod(make_pod("one", node="b", labels={"app": "db", "tier": "x"}))

    assert apart_from_each_other == dict.fromkeys("abc", NOT_NEAR)
    assert rejected(pod("web", two_terms), cache) == {"c": NOT_NEAR}


def test_each_term_holds_in_its_own_domain() -> None:
    cache = make_cache(*NODES, pods=[pod("db", node="a")])

    assert rejected(pod("web", near(to("db"), to("db", "host"))), cache) == {"b": NOT_NEAR, "c": NOT_NEAR}


def test_the_first_of_pods_that_want_to_be_together_may_go_anywhere_with_the_labels() -> None:
    cache = make_cache(*NODES, make_node("bare"))
    together = pod("web", near(to("web")))

    first = rejected(together, cache)
    cache.set_pod(pod("web", node="c", name="there"))

    assert first == {"bare": NOT_NEAR}
    assert rejected(together, cache) == dict.fromkeys(["a", "b", "bare"], NOT_NEAR)


def test_the_first_must_match_all_its_own_terms() -> None:
    cache = make_cache(*NODES)

    assert rejected(pod("web", near(to("web"), to("db"))), cache) == dict.fromkeys("abc", NOT_NEAR)
    assert rejected(pod("web", near(to("web", namespaces=["other"]))), cache) == dict.fromkeys(
        "abc", NOT_NEAR
    )
    assert rejected(pod("web", near(to("web", namespaceSelector={}))), cache) == {}


def test_a_match_outside_of_every_domain_does_not_count() -> None:
    cache = make_cache(*NODES, make_node("bare"), pods=[pod("web", node="bare", name="there")])

    assert rejected(pod("web", near(to("web"))), cache) == {"bare": NOT_NEAR}
    cache.set_pod(pod("web", node="c", name="in a domain"))
    assert rejected(pod("web", near(to("web"))), cache) == dict.fromkeys(["a", "b", "bare"], NOT_NEAR)


def test_a_pod_keeps_away_from_those_it_must_not_be_near() -> None:
    cache = make_cache(*NODES, make_node("bare"), pods=[pod("web", node="a")])

    assert rejected(pod("web", apart(to("web"))), cache) == {"a": TOO_NEAR, "b": TOO_NEAR}
    assert rejected(pod("web", apart(to("web", "host"))), cache) == {"a": TOO_NEAR}
    assert rejected(pod("web", apart(to("db"), to("web", "host"))), cache) == {"a": TOO_NEAR}
    # The nodes without the label are in no domain that one could share.
    assert rejected(pod("web", apart(to("web", "rack"))), cache) == {}


def test_placed_pods_keep_others_away_too() -> None:
    cache = make_cache(*NODES, make_node("bare"), pods=[pod("db", apart(to("web")), node="a")])

    assert rejected(pod("web"), cache) == {"a": REPELLED, "b": REPELLED}
    assert rejected(pod("cache"), cache) == {}
    cache.remove_pod(pod("db", node="a"))
    assert rejected(pod("web"), cache) == {}


def test_terms_of_several_placed_pods_hold_each_in_its_domain() -> None:
    cache = make_cache(
        *NODES,
        pods=[
            pod("x", apart(to("web", "host")), node="a"),
            pod("y", apart(to("web", "zone")), node="c"),
            pod("z", apart(to("web", "zone"), to("db", "host")), node="c"),
        ],
    )

    assert rejected(pod("web"), cache) == {"a": REPELLED, "c": REPELLED}
    assert rejected(pod("db"), cache) == {"c": REPELLED}


def test_a_node_tells_of_the_first_rule_that_it_breaks() -> None:
    cache = make_cache(*NODES, pods=[pod("db", node="a"), pod("queue", apart(to("web")), node="a")])
    incoming = pod("web", {**near(to("db")), **apart(to("db", "host"))})

    assert rejected(incoming, cache) == {"a": TOO_NEAR, "b": REPELLED, "c": NOT_NEAR}


def test_terminating_pods_are_neighbours_still() -> None:
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    cache = make_cache(*NODES, pods=[pod("web", node="a", metadata=ending)])

    assert rejected(pod("web", apart(to("web"))), cache) == {"a": TOO_NEAR, "b": TOO_NEAR}


@pytest.mark.parametrize(
    ("term", "far"),
    [
        (to("db"), False),
        (to("db", namespaces=["theirs"]), True),
        (to("db", namespaceSelector={}), True),
        (to("db", namespaceSelector={"matchLabels": {"team": "a"}}), True),
        (to("db", namespaceSelector={"matchLabels": {"team": "b"}}), False),
        (to("db", labelSelector=None, namespaceSelector={}), False),
    ],
)
def test_neighbours_are_looked_for_in_the_namespaces_that_the_term_means(
    term: dict[str, Any], far: bool
) -> None:
    cache = make_cache(*NODES, pods=[pod("db", node="c", namespace="theirs")])
    cache.namespaces.set(
        msgspec.convert({"metadata": {"name": "theirs", "labels": {"team": "a"}}}, Namespace)
    )

    assert rejected(pod("web", apart(term)), cache) == ({"c": TOO_NEAR} if far else {})


def test_a_placed_pods_namespace_selector_is_asked_of_the_new_pods_namespace() -> None:
    term = to("web", namespaceSelector={"matchLabels": {"team": "a"}})
    cache = make_cache(*NODES, pods=[pod("db", apart(term), node="c", namespace="theirs")])
    before = rejected(pod("web"), cache)

    cache.namespaces.set(
        msgspec.convert({"metadata": {"name": "default", "labels": {"team": "a"}}}, Namespace)
    )

    assert (before, rejected(pod("web"), cache)) == ({}, {"c": REPELLED})


def test_a_pod_that_fits_nowhere_is_told_so_as_kube_scheduler_tells_it() -> None:
    cache = make_cache(
        *NODES, *zoned(d="3"), pods=[pod("web", node="a"), pod("db", apart(to("web")), node="c")]
    )

    decision = make_framework(cache).schedule(pod("web", {**near(to("web")), **apart(to("web", "host"))}))

    assert isinstance(decision, Placement)
    assert decision.node_name == "b"
    cache.remove_node("b")
    decision = make_framework(cache).schedule(pod("web", {**near(to("web")), **apart(to("web", "host"))}))
    assert isinstance(decision, FitError)
    assert decision.message == (
        "0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, "
        "2 node(s) didn't match pod affinity rules."
    )


def test_two_pods_that_keep_apart_are_told_apart_before_the_watch_shows_the_first() -> None:
    cache = make_cache(*zoned(a="1", b="1"))
    framework = make_framework(cache)
    first, second = (pod("web", apart(to("web", "zone")), name=name) for name in ("first", "second"))

    cache.assume(first, "a")
    waiting = framework.schedule(second)
    cache.forget(first)

    assert isinstance(waiting, FitError)
    assert isinstance(framework.schedule(second), Placement)


def test_preferred_neighbours_count_by_weight_and_number() -> None:
    cache = make_cache(
        *NODES, *zoned(d="3"), pods=[pod("db", node="a"), pod("db", node="b"), pod("db", node="c")]
    )

    # 5 for each of 2, 1 and 0 in the zone.
    assert scores(pod("web", preferring(5, to("db"))), cache) == {"a": 100, "b": 100, "c": 50, "d": 0}
    # 0, 0, 5 and 10 less than the most.
    assert scores(pod("web", preferring(-5, to("db"))), cache) == {"a": 0, "b": 0, "c": 50, "d": 100}
    # Truncated: a third of 100.
    three = {
        "podAffinity": {
            PREFERRED: [
                {"weight": 2, "podAffinityTerm": to("db", "host")},
                {"weight": 1, "podAffinityTerm": to("db")},
            ]
        }
    }
    # 4, 4, 3 and 0.
    assert scores(pod("web", three), cache) == {"a": 100, "b": 100, "c": 75, "d": 0}


def test_scores_are_cut_to_whole_numbers() -> None:
    pods = [pod("db", node="a", name=str(i)) for i in range(3)]
    cache = make_cache(*zoned(a="1", b="2", c="3"), pods=[*pods, pod("db", node="b")])

    assert scores(pod("web", preferring(1, to("db"))), cache) == {"a": 100, "b": 33, "c": 0}


def test_what_placed_pods_prefer_and_require_ranks_nodes_for_the_new_one() -> None:
    nodes = zoned(a="1", b="2", c="3", d="4")
    cache = make_cache(
        *nodes,
        pods=[
            pod("x", preferring(4, to("web")), node="a"),
            pod("y", near(to("web")), node="b"),
            pod("z", preferring(-4, to("web")), node="c"),
        ],
    )

    # 4, 1, -4 and 0.
    assert scores(pod("web"), cache) == {"a": 100, "b": 62, "c": 0, "d": 50}
    # 4, 4, -4 and 0: what is required of the other counts as much as said here.
    assert scores(pod("web"), cache, hardPodAffinityWeight=4)["b"] == 100
    assert scores(pod("web"), cache, hardPodAffinityWeight=0)["b"] == 50
    assert scores(pod("db"), cache) == dict.fromkeys("abcd", 0)


def test_preferences_of_placed_pods_can_be_left_out_for_pods_without_any() -> None:
    cache = make_cache(*zoned(a="1", b="2"), pods=[pod("x", preferring(4, to("web")), node="a")])
    leaving_out = {"ignorePreferredTermsOfExistingPods": True}

    assert scores(pod("web"), cache, **leaving_out) == {"a": 0, "b": 0}
    assert scores(pod("web", preferring(1, to("none"))), cache, **leaving_out) == {"a": 100, "b": 0}


def test_nodes_in_no_domain_score_as_if_they_had_no_neighbours() -> None:
    cache = make_cache(*NODES, make_node("bare"), pods=[pod("db", node="c"), pod("db", node="bare")])

    assert scores(pod("web", preferring(1, to("db"))), cache) == {"a": 0, "b": 0, "c": 100, "bare": 0}


@pytest.mark.parametrize("weight", [-1, 101])
def test_a_weight_out_of_range_is_refused(weight: int) -> None:
    with pytest.raises(ConfigurationError, match="arguments of InterPodAffinity: hardPodAffinityWeight: "):
        plugin(make_cache(), hardPodAffinityWeight=weight)
