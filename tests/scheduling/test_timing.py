from __future__ import annotations

import random

import pytest

from tests.clocks import TickingClock
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement, PluginFailure
from webhook.scheduling.plugin import Scores
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.status import SKIP, Code, Status
from webhook.scheduling.testing import make_cache, make_node, make_pod
from webhook.scheduling.timing import Timing


class Watched:
    """A plugin with something to say at several points."""

    fails = False

    def pre_filter(self, _pod: Pod, _nodes: Nodes) -> Status:
        return SKIP

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        if self.fails:
            raise RuntimeError("broken")
        return nodes.pod_counts

    def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
        return scores

    def reserve(self, _pod: Pod, _node_name: str) -> Status:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("full",))

    def unreserve(self, _pod: Pod, _node_name: str) -> None:
        """Nothing to take back."""


def framework(cache: Cache, plugin: Watched, reports: list[tuple[str, str, str, float]]) -> Framework:
    registry = load_plugins()
    registry.register("Watched", lambda _args, _handle: plugin)
    added = PluginSetConfig(enabled=(PluginRef(name="Watched"),))
    return build_framework(
        Profile(plugins=PluginsConfig(multi_point=added)),
        registry,
        cache,
        random.Random(0),
        Timing(TickingClock(), lambda *report: reports.append(report)),
    )


@pytest.fixture
def cache() -> Cache:
    return make_cache(make_node("a"), make_node("b"))


def test_calls_are_reported_by_plugin_point_and_status_in_kube_schedulers_words(cache: Cache) -> None:
    reports: list[tuple[str, str, str, float]] = []
    timed = framework(cache, Watched(), reports)

    assert isinstance(timed.schedule(make_pod()), Placement)
    assert not timed.reserve(make_pod(), "a").is_success

    assert [report for report in reports if report[0] == "Watched"] == [
        ("Watched", "PreFilter", "Skip", 1.0),
        ("Watched", "Score", "Success", 1.0),
        ("Watched", "ScoreExtensionNormalize", "Success", 1.0),
        ("Watched", "Reserve", "UnschedulableAndUnresolvable", 1.0),
        ("Watched", "Unreserve", "Success", 1.0),
    ]
    assert ("NodeResourcesFit", "Filter", "Success", 1.0) in reports


def test_a_plugin_that_raises_is_reported_as_an_error_and_contained(cache: Cache) -> None:
    plugin, reports = Watched(), list[tuple[str, str, str, float]]()
    plugin.fails = True

    assert isinstance(framework(cache, plugin, reports).schedule(make_pod()), PluginFailure)

    assert ("Watched", "Score", "Error", 1.0) in reports


def test_one_decision_in_ten_is_timed(cache: Cache) -> None:
    reports: list[tuple[str, str, str, float]] = []
    timed = framework(cache, Watched(), reports)

    for _ in range(20):
        timed.schedule(make_pod())

    assert sum(report[:2] == ("Watched", "Score") for report in reports) == 2
