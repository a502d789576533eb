from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement, PluginFailure
from webhook.scheduling.plugin import Local, Scores
from webhook.scheduling.signature import signature
from webhook.scheduling.standings import Standings
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod


class OfOneTeam:
    """Lets pods onto the nodes of their team alone, and keeps how many nodes it was asked about."""

    reasons = (Reason(Code.UNSCHEDULABLE, "node(s) were of another team"),)
    local = Local.NODE

    def __init__(self) -> None:
        self.asked: list[int] = []

    def filter(self, pod: Pod, nodes: Nodes) -> npt.NDArray[np.bool_]:
        self.asked.append(len(nodes))
        return nodes.labels("team").equal(pod.labels.get("team"))


class Prefers:
    """Likes the node that the pod's annotation names."""

    local = Local.NODE

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        return 100 * nodes.named([(pod.metadata.annotations or {}).get("likes", "")])


class ByName:
    reasons = (Reason(Code.UNSCHEDULABLE, "node(s) had another name"),)
    local = Local.NODE

    def filter(self, pod: Pod, nodes: Nodes) -> npt.NDArray[np.bool_]:
        return nodes.labels("team").equal(pod.metadata.name)


def cluster() -> Cache:
    return make_cache(*(make_node(f"of-{team}", labels={"team": team}) for team in "abcdefghij"))


def node_for(framework: Framework, pod: Pod) -> str:
    decision = framework.schedule(pod)
    assert isinstance(decision, Placement), decision
    return decision.node_name


def replica(name: str, **metadata: Any) -> Pod:
    return make_pod(name, labels={"team": "a"}, metadata=metadata)


def test_a_filter_of_others_may_go_by_labels_that_two_like_pods_have_not_in_common() -> None:
    framework = make_framework(cluster(), OfOneTeam=OfOneTeam())
    first, second = (make_pod(f"pod-{team}", labels={"team": team}) for team in "ab")
    assert signature(first) == signature(second)

    assert [node_for(framework, pod) for pod in (first, second)] == ["of-a", "of-b"]


def test_a_score_of_others_may_go_by_annotations_that_two_like_pods_have_not_in_common() -> None:
    framework = make_framework(cluster(), Prefers=Prefers())
    pods = [make_pod(f"pod-{node}", metadata={"annotations": {"likes": node}}) for node in ("of-c", "of-d")]

    assert [node_for(framework, pod) for pod in pods] == ["of-c", "of-d"]


@pytest.mark.parametrize(
    "own", [{"uid": "7"}, {"resourceVersion": "7"}, {"creationTimestamp": "2026-01-01T00:00:07Z"}]
)
def test_replicas_are_asked_about_once(own: dict[str, str]) -> None:
    cache, plugin = cluster(), OfOneTeam()
    framework = make_framework(cache, OfOneTeam=plugin)
    framework.schedule(replica("web-1"))
    framework.schedule(replica("web-2", **own))
    assert plugin.asked == [10]

    cache.set_node(make_node("of-a", labels={"team": "b"}))
    framework.schedule(replica("web-3"))
    assert plugin.asked == [10, 1]


def test_the_volumes_with_their_tokens_do_not_tell_replicas_apart() -> None:
    plugin = OfOneTeam()
    framework = make_framework(cluster(), OfOneTeam=plugin)
    for suffix in ("x7k2p", "q2m4z"):
        token = {"name": f"kube-api-access-{suffix}", "projected": {}}
        framework.schedule(make_pod(suffix, labels={"team": "a"}, spec={"volumes": [token]}))

    assert plugin.asked == [10]


def test_a_plugin_that_goes_by_what_each_pod_has_of_its_own_fails_rather_than_decides_wrongly() -> None:
    failure = make_framework(cluster(), ByName=ByName()).schedule(make_pod("a"))

    assert isinstance(failure, PluginFailure)
    assert failure.message == (
        "plugin ByName failed in filter: LookupError: a plugin with `local` can't read metadata.name, "
        "which each pod has of its own; leave out `local`"
    )


def test_scores_of_built_in_plugins_and_of_others_are_added_up() -> None:
    cache = make_cache(make_node("of-a"), make_node("of-b", taints=["slow=x:PreferNoSchedule"]))
    liked = make_pod("pod", metadata={"annotations": {"likes": "of-b"}})
    framework, without = make_framework(cache, Prefers=Prefers()), make_framework(cache)

    added = framework.scores(liked, Nodes(cache.table)) - without.scores(liked, Nodes(cache.table))

    assert added.tolist() == [0, 100]


def test_a_plugin_of_others_that_looks_at_all_nodes_beforehand_is_asked_each_time() -> None:
    class WhereAnyIsCordoned(OfOneTeam):
        def pre_filter(self, _pod: Pod, nodes: Nodes) -> Status:
            return SUCCESS if nodes.unschedulable.any() else SKIP

    cache, plugin = cluster(), WhereAnyIsCordoned()
    framework = make_framework(cache, Watched=plugin)
    pod = make_pod(labels={"team": "nobody's"})
    assert isinstance(framework.schedule(pod), Placement)

    cache.set_node(make_node("of-j", unschedulable=True))

    assert not isinstance(framework.schedule(pod), Placement)


def test_the_signature_asked_for_longest_ago_is_forgotten() -> None:
    cache = cluster()
    standings = Standings(cache.table, make_framework(cache).plugins, limit=2)
    pods = {name: make_pod(name, cpu=cpu) for name, cpu in (("a", "1"), ("b", "2"), ("c", "3"))}
    kept = {name: standings.of(pod) for name, pod in pods.items()}

    assert standings.of(pods["c"]) is kept["c"]
    assert standings.of(pods["b"]) is kept["b"]
    assert standings.of(pods["a"]) is not kept["a"]
