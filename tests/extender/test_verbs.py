from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from prometheus_client import REGISTRY

from tests.clocks import SetClock
from webhook.extender.app import create_app
from webhook.extender.verbs import Verbs
from webhook.extender.wire import MalformedArgs
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.containment import PluginError
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.testing import make_cache, make_node, make_node_metrics, make_pod


class Extender:
    """The verbs over a cluster, asked as kube-scheduler asks."""

    def __init__(self, cache: Cache, *names: str, best_score: int = 10, **plugins: object) -> None:
        self.cache = cache
        self.clock = SetClock(0.0)
        registry = load_plugins()
        for name, made in plugins.items():
            registry.register(name, lambda _args, _handle, made=made: made)
        enabled = tuple(PluginRef(name=name) for name in ("PrioritySort", *names, *plugins))
        only = PluginSetConfig(enabled=enabled, disabled=(PluginRef(name="*"),))
        framework = build_framework(
            Profile(plugins=PluginsConfig(multi_point=only)), registry, cache, random.Random(0)
        )
        self.verbs = Verbs(
            framework,
            cache,
            threading.Lock(),
            clock=self.clock,
            rng=random.Random(0),
            best_score=best_score,
        )

    def filter(self, pod: str, nodes: Iterable[str], **manifest: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask(self.verbs.filter, pod, nodes, manifest)
        return answer

    def prioritize(self, pod: str, nodes: Iterable[str], **manifest: Any) -> dict[str, int]:
        answer = self._ask(self.verbs.prioritize, pod, nodes, manifest)
        return {each["Host"]: each["Score"] for each in answer}

    def _ask(self, verb: Any, pod: str, nodes: Iterable[str], manifest: Mapping[str, Any]) -> Any:
        metadata = {"name": pod, "namespace": "default", "uid": f"uid-of-default/{pod}"}
        spec = {"containers": [{"name": "main", "resources": {"requests": manifest}}]}
        body = {"Pod": {"metadata": metadata, "spec": spec}, "Nodes": None, "NodeNames": list(nodes)}
        return json.loads(verb(json.dumps(body).encode()))


def labelled(*names: str, others: Iterable[str] = ()) -> Cache:
    return make_cache(
        *(make_node(name, labels={"custom": ""}, memory="32Gi") for name in names),
        *(make_node(name, memory="32Gi") for name in others),
    )


def measure(cache: Cache, usage: Mapping[str, str]) -> None:
    cache.memory.measure(make_node_metrics(name, memory=memory) for name, memory in usage.items())


def test_the_filters_of_the_profile_say_which_nodes_remain_and_why_the_others_dont() -> None:
    extender = Extender(labelled("a", "b", others=["c"]), "NodeLabel")

    assert extender.filter("pod", ["a", "b", "c"]) == {
        "Nodes": None,
        "NodeNames": ["a", "b"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"c": "node(s) didn't have the required label(s) custom"},
        "Error": "",
    }


def test_only_nodes_that_were_asked_about_are_told_of() -> None:
    extender = Extender(labelled("a", "b", others=["c", "d"]), "NodeLabel")

    answer = extender.filter("pod", ["b", "d"])

    assert answer["NodeNames"] == ["b"]
    assert set(answer["FailedAndUnresolvableNodes"]) == {"d"}


def test_a_reason_that_preemption_may_lift_is_told_apart() -> None:
    extender = Extender(labelled("a", "b"), "NodeResourcesFit")
    extender.cache.set_pod(make_pod("big", cpu="4", node="a"))

    answer = extender.filter("pod", ["a", "b"], cpu="1")

    assert (answer["FailedNodes"], answer["NodeNames"]) == ({"a": "Insufficient cpu"}, ["b"])


def test_several_reasons_of_one_node_are_told_together() -> None:
    extender = Extender(labelled("a", "b"), "NodeResourcesFit")
    extender.cache.set_pod(make_pod("big", cpu="4", memory="32Gi", node="a"))

    answer = extender.filter("pod", ["a", "b"], cpu="1", memory="1Gi")

    assert answer["FailedNodes"] == {"a": "Insufficient cpu, Insufficient memory"}


def test_a_node_that_only_kube_scheduler_knows_yet_is_left_out() -> None:
    extender = Extender(labelled("a"), "NodeLabel")

    answer = extender.filter("pod", ["a", "new"])

    assert answer["FailedNodes"] == {"new": "node(s) are not known to custom-scheduler yet"}
    assert extender.prioritize("pod", ["a", "new"])["new"] == 0


def test_nodes_sent_whole_come_back_whole() -> None:
    extender = Extender(labelled("a", others=["b"]), "NodeLabel")
    nodes = [{"metadata": {"name": name, "annotations": {"of": name}}} for name in ("b", "a")]
    pod = {"metadata": {"name": "pod", "uid": "1"}, "spec": {"containers": []}}
    body = json.dumps({"Pod": pod, "Nodes": {"items": nodes}, "NodeNames": None}).encode()

    answer = json.loads(extender.verbs.filter(body))

    assert answer["NodeNames"] is None
    assert answer["Nodes"]["items"] == nodes[1:]


def test_the_node_with_the_least_memory_in_use_is_told_the_best_score() -> None:
    extender = Extender(labelled("full", "half", "free"), "MemoryUsage")
    measure(extender.cache, {"full": "32Gi", "half": "16Gi", "free": "0"})

    assert extender.prioritize("pod", ["full", "half", "free"]) == {"full": 0, "half": 5, "free": 10}


def test_scores_are_as_fine_as_the_admin_wants() -> None:
    extender = Extender(labelled("half", "free"), "MemoryUsage", best_score=100)
    measure(extender.cache, {"half": "16Gi", "free": "0"})

    assert extender.prioritize("pod", ["half", "free"]) == {"half": 49, "free": 99}


def test_one_of_equals_is_told_a_point_more() -> None:
    names = ["a", "b", "c"]
    extender = Extender(labelled(*names), "MemoryUsage")
    measure(extender.cache, dict.fromkeys(names, "8Gi"))

    assert sorted(extender.prioritize("pod", names).values()) == [6, 6, 7]


def test_one_of_equals_that_are_all_worthless_is_told_a_point() -> None:
    names = ["a", "b"]
    extender = Extender(labelled(*names), "MemoryUsage")
    measure(extender.cache, dict.fromkeys(names, "40Gi"))

    assert sorted(extender.prioritize("pod", names).values()) == [0, 1]


def test_a_burst_doesnt_pile_up_on_one_node_though_no_binding_shows_yet() -> None:
    names = [f"node-{index}" for index in range(10)]
    extender = Extender(labelled(*names), "MemoryUsage", best_score=100)
    measure(extender.cache, dict.fromkeys(names, "4Gi"))

    chosen: Counter[str] = Counter()
    for index in range(100):
        scores = extender.prioritize(f"pod-{index}", names, memory="512Mi")
        chosen[max(scores, key=lambda name: scores[name])] += 1

    assert chosen == dict.fromkeys(names, 10)


def test_the_only_feasible_node_counts_as_taken_too() -> None:
    extender = Extender(labelled("a", others=["b"]), "NodeLabel", "NodeResourcesFit")

    extender.filter("first", ["a", "b"], cpu="3")

    assert extender.filter("second", ["a", "b"], cpu="3")["FailedNodes"] == {"a": "Insufficient cpu"}


def test_who_asks_again_isnt_in_its_own_way() -> None:
    extender = Extender(labelled("a"), "NodeResourcesFit")

    answers = [extender.filter("pod", ["a"], cpu="3")["NodeNames"] for _ in range(2)]

    assert answers == [["a"], ["a"]]


def test_an_answer_of_which_nothing_came_is_forgotten() -> None:
    extender = Extender(labelled("a"), "NodeResourcesFit")
    extender.filter("first", ["a"], cpu="3")

    extender.clock.now += 16

    assert extender.filter("second", ["a"], cpu="3")["NodeNames"] == ["a"]


def test_a_pod_that_went_elsewhere_counts_there() -> None:
    extender = Extender(labelled("a", "b"), "NodeResourcesFit")
    extender.filter("first", ["a"], cpu="3")

    extender.cache.set_pod(make_pod("first", cpu="3", node="b"))

    assert extender.filter("second", ["a", "b"], cpu="3")["FailedNodes"] == {"b": "Insufficient cpu"}


class Failing:
    def filter_node(self, _pod: Pod, _node: NodeInfo) -> str | None:
        raise ValueError("no idea")

    def score_node(self, _pod: Pod, _node: NodeInfo) -> float:
        raise ValueError("no idea")


def test_what_a_plugin_does_wrong_is_in_the_answer() -> None:
    extender = Extender(labelled("a"), Failing=Failing())

    answer = extender.filter("pod", ["a"])

    assert answer["NodeNames"] is None
    assert "Failing" in answer["Error"]
    assert "no idea" in answer["Error"]
    with pytest.raises(PluginError, match="no idea"):
        extender.prioritize("pod", ["a"])


def test_what_a_plugin_does_wrong_is_counted() -> None:
    def failures() -> float:
        return REGISTRY.get_sample_value("custom_scheduler_plugin_failures_total", {"plugin": "Failing"}) or 0

    extender = Extender(labelled("a"), Failing=Failing())
    app = create_app(extender.verbs).test_client()
    before = failures()

    for number, path in enumerate(["/filter", "/prioritize"], start=1):
        body = {"Pod": {"metadata": {"name": "pod"}}, "NodeNames": ["a"]}
        app.post(path, json=body)
        assert failures() == before + number


def test_of_no_names_none_is_told() -> None:
    extender = Extender(labelled("a"), "NodeLabel")

    assert extender.prioritize("pod", []) == {}


def test_names_that_are_none_are_refused() -> None:
    extender = Extender(labelled("a"), "NodeLabel")
    body = json.dumps({"Pod": {"metadata": {"name": "pod"}}, "NodeNames": [1]}).encode()

    with pytest.raises(MalformedArgs, match="NodeNames: Expected `str`"):
        extender.verbs.filter(body)
