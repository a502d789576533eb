from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml

from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import NodeInfo, Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import FitError, Placement
from webhook.scheduling.plugin import Handle, Scores
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework, build_frameworks
from webhook.scheduling.record import Record
from webhook.scheduling.registry import Registry
from webhook.scheduling.testing import make_cache, make_node, make_pod

POD = make_pod(cpu="100m")


class Prefers:
    """Gives 100 to one node."""

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._node = args["node"]
        self.handle = handle

    def score_node(self, _pod: Pod, node: NodeInfo) -> float:
        return 100 if node.name == self._node else 0


class Refuses:
    """Refuses every node with a text."""

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._text = args.get("text", "refused")

    def filter_node(self, _pod: Pod, _node: NodeInfo) -> str | None:
        return str(self._text)


class Sorts:
    """The latest first."""

    def sort_key(self, _pod: Pod, queued_at: float) -> tuple[float, ...]:
        return (-queued_at,)


class Fails:
    """Raises wherever it can."""

    def sort_key(self, _pod: Pod, _queued_at: float) -> Any:
        raise RuntimeError("no order")


class FiltersWithoutReasons:
    def filter(self, _pod: Pod, nodes: Nodes) -> Any:
        return np.zeros(len(nodes), dtype=np.bool_)


class BadReasons(FiltersWithoutReasons):
    reasons = ("just text",)


class BadLocal(Sorts):
    local = True


class BadEvents(Sorts):
    def events_to_register(self) -> Any:
        return ["Node/Add"]


def with_plugins(**factories: Any) -> Registry:
    registry = load_plugins()
    for name, factory in factories.items():
        registry.register(name, factory)
    return registry


def build(text: str, cache: Cache | None = None, **factories: Any) -> Framework:
    profile = msgspec.convert(yaml.safe_load(text), Profile)
    cache = cache or make_cache(make_node("a"), make_node("b", cpu="8"))
    return build_framework(profile, with_plugins(**factories), cache, random.Random(0))


def test_scores_of_a_small_type_have_room_for_their_weight() -> None:
    class Small:
        def score(self, _pod: Pod, nodes: Nodes) -> Scores:
            return np.arange(100, 100 - len(nodes), -1, dtype=np.uint8)

    text = "plugins: {multiPoint: {enabled: [{name: Small, weight: 3}]}}"
    record = Record()
    build(text, Small=lambda _args, _handle: Small()).schedule(POD, record)

    assert record.scores["Small"].tolist() == [300, 297]


@pytest.mark.parametrize(("weights", "chosen"), [((1, 3), "b"), ((3, 1), "a")])
def test_weights_decide_between_opinions(weights: tuple[int, int], chosen: str) -> None:
    framework = build(
        f"""
        plugins:
          score:
            enabled: [{{name: One, weight: {weights[0]}}}, {{name: Other, weight: {weights[1]}}}]
            disabled: [{{name: "*"}}]
        pluginConfig: [{{name: One, args: {{node: a}}}}, {{name: Other, args: {{node: b}}}}]
        """,
        One=Prefers,
        Other=Prefers,
    )

    decisions = [framework.schedule(POD) for _ in range(8)]

    assert {decision.node_name for decision in decisions if isinstance(decision, Placement)} == {chosen}


def test_a_default_plugin_can_be_switched_off_at_one_point_or_at_all() -> None:
    impossible = make_pod(cpu="99")

    assert isinstance(build("{}").schedule(impossible), FitError)
    for point in ("filter", "multiPoint"):
        framework = build(f"plugins: {{{point}: {{disabled: [{{name: NodeResourcesFit}}]}}}}")
        assert isinstance(framework.schedule(impossible), Placement)


def test_a_star_switches_off_all_defaults_of_a_point() -> None:
    framework = build(
        """
        plugins: {filter: {enabled: [{name: Refuses}], disabled: [{name: "*"}]}}
        """,
        Refuses=Refuses,
    )

    decision = framework.schedule(make_pod(cpu="99"))

    assert isinstance(decision, FitError)
    assert decision.message == "0/2 nodes are available: 2 refused."


def test_plugins_run_in_the_order_of_the_configuration_after_the_defaults() -> None:
    text = """
        plugins: {multiPoint: {enabled: [{name: First}, {name: Second}]}}
        pluginConfig: [{name: First, args: {text: one}}, {name: Second, args: {text: two}}]
        """

    decision = build(text, First=Refuses, Second=Refuses).schedule(POD)
    swapped = build(
        text.replace("{name: First}, {name: Second}", "{name: Second}, {name: First}"),
        First=Refuses,
        Second=Refuses,
    ).schedule(POD)

    assert isinstance(decision, FitError)
    assert decision.rejected_by == {"First"}
    assert isinstance(swapped, FitError)
    assert swapped.rejected_by == {"Second"}


def test_a_default_plugin_named_at_a_point_moves_to_the_front_of_it() -> None:
    text = "plugins: {filter: {enabled: [{name: NodeResourcesFit}]}}"
    cordoned = make_cache(make_node("n", cpu="1", unschedulable=True))

    decision = build(text, cordoned).schedule(make_pod(cpu="2"))

    assert isinstance(decision, FitError)
    assert decision.rejected_by == {"NodeResourcesFit"}


def test_the_order_of_the_queue_can_be_replaced() -> None:
    framework = build(
        "plugins: {queueSort: {enabled: [{name: Sorts}], disabled: [{name: '*'}]}}", Sorts=lambda *_: Sorts()
    )

    assert framework.sort_key(POD, 2.0) < framework.sort_key(POD, 1.0)


def test_an_order_that_fails_falls_back_to_time() -> None:
    framework = build(
        "plugins: {queueSort: {enabled: [{name: Fails}], disabled: [{name: '*'}]}}", Fails=lambda *_: Fails()
    )

    assert framework.sort_key(POD, 1.0) < framework.sort_key(POD, 2.0)


def test_a_plugin_is_made_once_with_its_arguments_and_the_handle() -> None:
    made = list[Prefers]()

    def factory(args: Mapping[str, Any], handle: Handle) -> Prefers:
        made.append(Prefers(args, handle))
        return made[-1]

    build(
        """
        schedulerName: mine
        plugins: {multiPoint: {enabled: [{name: Prefers}]}, score: {enabled: [{name: Prefers, weight: 3}]}}
        pluginConfig: [{name: Prefers, args: {node: a}}]
        """,
        Prefers=factory,
    )

    (plugin,) = made
    assert plugin.handle.scheduler_name == "mine"


def test_each_profile_has_its_own_framework() -> None:
    frameworks = build_frameworks(
        (Profile(scheduler_name="one"), Profile(scheduler_name="two")),
        load_plugins(),
        make_cache(),
        random.Random(0),
    )

    assert {name: each.scheduler_name for name, each in frameworks.items()} == {"one": "one", "two": "two"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "plugins: {score: {enabled: [{name: Nowhere}]}}",
            "no plugin is called Nowhere; registered are: .*NodeLabel",
        ),
        (
            "plugins: {score: {disabled: [{name: ImageLocalty}]}}",
            "score.disabled: no plugin is called ImageLocalty",
        ),
        (
            "plugins: {score: {enabled: [{name: Sorts}]}}",
            "plugin Sorts is enabled at score, but doesn't implement it",
        ),
        (
            "plugins: {queueSort: {enabled: [{name: Sorts}]}}",
            "exactly one queueSort plugin, got PrioritySort, Sorts",
        ),
        ("plugins: {queueSort: {disabled: [{name: '*'}]}}", "exactly one queueSort plugin, got none"),
        (
            "pluginConfig: [{name: NodeLabel, args: {labels: [a]}}]",
            "arguments for NodeLabel, which is not enabled",
        ),
        (
            "{plugins: {filter: {enabled: [{name: NodeLabel}]}}, pluginConfig: [{name: NodeLabel, args: {label: a}}]}",
            "arguments of NodeLabel: Object contains unknown field `label`",
        ),
        (
            "plugins: {score: {enabled: [{name: Prefers}]}}",
            "plugin Prefers from .* can't be made: KeyError: 'node'",
        ),
        (
            "plugins: {multiPoint: {enabled: [{name: Empty}]}}",
            "plugin Empty from .* implements no extension point",
        ),
        (
            "plugins: {multiPoint: {enabled: [{name: Unreasoned}]}}",
            "plugin Unreasoned has filter, but no reasons",
        ),
        (
            "plugins: {queueSort: {enabled: [{name: BadEvents}], disabled: [{name: '*'}]}}",
            "plugin BadEvents: events_to_register: expected a tuple of ClusterEvent",
        ),
        (
            "plugins: {queueSort: {enabled: [{name: BadLocal}], disabled: [{name: '*'}]}}",
            "plugin BadLocal: local: expected a Local, got True",
        ),
    ],
)
def test_what_is_wrong_with_a_profile_is_told(text: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"profile custom-scheduler: .*{fault}"):
        build(
            text,
            Sorts=lambda *_: Sorts(),
            Prefers=Prefers,
            Empty=lambda *_: object(),
            Unreasoned=lambda *_: FiltersWithoutReasons(),
            BadEvents=lambda *_: BadEvents(),
            BadLocal=lambda *_: BadLocal(),
        )


def test_reasons_that_are_not_reasons_fail_the_attempt() -> None:
    framework = build("plugins: {filter: {enabled: [{name: Bad}]}}", Bad=lambda *_: BadReasons())

    assert "reasons: expected a tuple of Reason" in framework.schedule(POD).message  # type: ignore[union-attr]
