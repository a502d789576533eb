from __future__ import annotations

from typing import Any

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugins.node_affinity import NodeAffinity
from webhook.scheduling.status import Code, Status
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_filter, run_score

REASON = ["node(s) didn't match Pod's node affinity/selector"]
CACHE = make_cache(
    make_node("a", labels={"zone": "a", "disk": "ssd"}),
    make_node("b", labels={"zone": "b", "disk": "ssd"}),
    make_node("c", labels={"zone": "c"}),
)


def expression(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def named(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def requiring(*terms: dict[str, Any], selector: dict[str, str] | None = None) -> Pod:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return make_pod(spec={"affinity": {"nodeAffinity": required}, "nodeSelector": selector or {}})


def preferring(*terms: tuple[int, dict[str, Any]]) -> Pod:
    preferred = [{"weight": weight, "preference": term} for weight, term in terms]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return make_pod(spec={"affinity": affinity})


def test_the_node_selector_and_a_required_term_must_both_hold() -> None:
    pod = requiring(expression("zone", "a"), expression("zone", "c"), selector={"disk": "ssd"})

    assert run_filter(NodeAffinity(), pod, CACHE) == {"b": REASON, "c": REASON}


def test_a_pod_that_asks_for_nothing_is_not_filtered() -> None:
    assert run_filter(NodeAffinity(), make_pod(), CACHE) == {}


def test_required_affinity_without_terms_fits_nowhere() -> None:
    assert set(run_filter(NodeAffinity(), requiring(), CACHE)) == {"a", "b", "c"}


def test_terms_that_all_name_nodes_narrow_the_search_to_those() -> None:
    pod = requiring(named("a"), {**named("c"), **expression("zone", "c")})

    assert NodeAffinity().pre_filter(pod, Nodes(CACHE.table)) == frozenset({"a", "c"})


def test_a_term_that_names_no_node_leaves_the_search_open() -> None:
    answer = NodeAffinity().pre_filter(requiring(named("a"), expression("zone", "c")), Nodes(CACHE.table))

    assert answer == Status()


def test_terms_whose_names_conflict_can_not_be_met() -> None:
    answer = NodeAffinity().pre_filter(requiring(named("a", "b")), Nodes(CACHE.table))

    assert answer == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",))


def test_preferred_terms_add_up_and_are_scaled_to_the_best_node() -> None:
    pod = preferring(
        (30, expression("zone", "a")), (60, expression("disk", "ssd")), (50, expression("zone", "c"))
    )

    assert run_score(NodeAffinity(), pod, CACHE) == {"a": 100, "b": 66, "c": 55}


def test_only_the_feasible_nodes_set_the_scale() -> None:
    pod = preferring((30, expression("zone", "a")), (15, expression("zone", "b")))

    assert run_score(NodeAffinity(), pod, CACHE, only=["b", "c"]) == {"b": 100, "c": 0}


def test_no_node_that_matches_means_no_score() -> None:
    assert run_score(NodeAffinity(), preferring((10, expression("zone", "z")), (9, {})), CACHE) == {
        "a": 0,
        "b": 0,
        "c": 0,
    }
