from __future__ import annotations

from typing import Any

from webhook.scheduling.cache import Cache
from webhook.scheduling.explanation import Explanation, RankingFault, Refusal, explain
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

CACHE = make_cache(make_node("a"), make_node("b", cpu="1"), make_node("c", taints=["dedicated=x:NoSchedule"]))


class Likes:
    def __init__(self, **scores: int) -> None:
        self._scores = scores

    def score_node(self, _pod: Pod, node: NodeInfo) -> int:
        return self._scores.get(node.name, 0)


class Breaks:
    def score_node(self, _pod: Pod, _node: NodeInfo) -> int:
        raise RuntimeError("no idea")


def explained(cache: Cache, pod: Pod, **plugins: object) -> Explanation:
    return explain(make_framework(cache, **plugins), cache.table, pod)


def selecting(*names: str) -> Pod:
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return make_pod(spec={"affinity": {"nodeAffinity": required}})


def reasons(explanation: Explanation) -> dict[str, Any]:
    return {verdict.name: [each.reason for each in verdict.refusals] for verdict in explanation.nodes}


def test_the_chosen_node_comes_first_and_each_feasible_one_has_its_scores_by_plugin() -> None:
    told = explained(CACHE, make_pod(cpu="100m", memory="1Gi"), Likes=Likes(b=70, a=5))

    assert told.node == "b"
    assert told.message == ""
    assert [verdict.name for verdict in told.feasible] == ["b", "a"]
    for verdict in told.feasible:
        assert verdict.total == sum(verdict.scores.values())
    assert [verdict.scores["Likes"] for verdict in told.feasible] == [70, 5]


def test_scores_are_weighted() -> None:
    told = explained(CACHE, make_pod(cpu="100m"))

    # TaintToleration counts three times.
    assert told.nodes[0].scores["TaintToleration"] == 300


def test_a_node_that_is_refused_says_by_which_plugin_and_why() -> None:
    told = explained(CACHE, make_pod(cpu="2"))

    refusals = {verdict.name: verdict.refusals for verdict in told.nodes if not verdict.feasible}
    assert refusals == {
        "b": (Refusal(plugin="NodeResourcesFit", reason="Insufficient cpu"),),
        "c": (Refusal(plugin="TaintToleration", reason="node(s) had untolerated taint(s)"),),
    }
    assert all(verdict.scores == {} and verdict.total == 0 for verdict in told.nodes if not verdict.feasible)


def test_all_reasons_of_a_filter_are_told() -> None:
    told = explained(make_cache(make_node("small", cpu="1", memory="1Gi")), make_pod(cpu="2", memory="2Gi"))

    assert reasons(told) == {"small": ["Insufficient cpu", "Insufficient memory"]}


def test_the_message_is_the_one_of_the_condition() -> None:
    told = explained(CACHE, make_pod(cpu="100"))

    assert told.node is None
    assert told.message == make_framework(CACHE).schedule(make_pod(cpu="100")).message  # type: ignore[union-attr]


def test_a_node_without_rivals_is_scored_all_the_same() -> None:
    told = explained(CACHE, make_pod(cpu="2"), Likes=Likes(a=42))

    assert told.node == "a"
    assert told.nodes[0].scores["Likes"] == 42


def test_a_plugin_that_cannot_score_does_no_harm_to_a_node_without_rivals() -> None:
    told = explained(CACHE, make_pod(cpu="2"), Breaks=Breaks())

    assert told.node == "a"
    assert (told.nodes[0].feasible, told.nodes[0].total, told.rivals) == (True, None, 1)
    assert told.ranking_fault is not None
    assert told.ranking_fault.message == "plugin Breaks failed in score: RuntimeError: no idea"


def test_a_plugin_that_fails_leaves_no_node_chosen_and_is_named() -> None:
    told = explained(CACHE, make_pod(cpu="100m"), Breaks=Breaks())

    assert told.node is None
    assert "plugin Breaks failed in score: RuntimeError: no idea" in told.message


def test_a_ranking_that_broke_off_has_no_totals_and_names_the_plugin() -> None:
    told = explained(CACHE, make_pod(cpu="100m"), Likes=Likes(a=70), Breaks=Breaks())

    assert told.ranking_fault == RankingFault(plugin="Breaks", message=told.message)
    assert [(verdict.name, verdict.total) for verdict in told.feasible] == [("a", None), ("b", None)]
    assert [verdict.scores["Likes"] for verdict in told.feasible] == [70, 0]


def test_a_ranking_that_came_to_its_end_has_no_fault() -> None:
    assert explained(CACHE, make_pod(cpu="100m")).ranking_fault is None


def test_nodes_that_were_never_looked_at_say_why() -> None:
    told = explained(CACHE, selecting("b"))

    assert told.node == "b"
    assert reasons(told) == {
        "b": [],
        "a": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
        "c": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
    }


def test_what_is_said_of_the_pod_holds_for_each_node() -> None:
    told = explained(
        CACHE, make_pod(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "lost"}}]})
    )

    assert told.node is None
    assert set(map(tuple, reasons(told).values())) == {('persistentvolumeclaim "lost" not found',)}


def test_nodes_beside_the_nominated_one_are_not_looked_at() -> None:
    told = explained(CACHE, make_pod(cpu="100m", status={"nominatedNodeName": "b"}))

    assert told.node == "b"
    assert reasons(told)["a"] == ["not looked at, as the pod is nominated for b"]


def test_a_gated_pod_has_the_condition_that_the_api_server_gives_it() -> None:
    told = explained(CACHE, make_pod(spec={"schedulingGates": [{"name": "hold"}]}))

    assert (told.node, told.nodes) == (None, ())
    assert told.message == "Scheduling is blocked due to non-empty scheduling gates"


def test_what_is_not_supported_says_so_without_a_word_on_nodes() -> None:
    told = explained(CACHE, make_pod(spec={"resourceClaims": [{"name": "gpu"}]}))

    assert (told.node, told.nodes) == (None, ())
    assert told.message.startswith("custom-scheduler does not support spec.resourceClaims yet")


def test_without_nodes_there_is_nothing_to_tell_of() -> None:
    told = explained(make_cache(), make_pod())

    assert (told.node, told.message, told.nodes) == (None, "no nodes available to schedule pods", ())


def test_equals_are_counted_and_the_drawn_one_leads() -> None:
    cache = make_cache(*(make_node(name) for name in "abcde"))

    told = explained(cache, make_pod(cpu="1"))

    assert told.rivals == 5
    assert told.nodes[0].name == told.node
