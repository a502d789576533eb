from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.clocks import TickingClock
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.measurements import Measurements
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.status import SUCCESS, Code, Status, wait
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod
from webhook.scheduling.timing import Timing


def measured(**plugins: object) -> Framework:
    """A framework over two nodes, of which one is too small for a pod that wants a cpu."""
    registry = load_plugins()
    for name, plugin in plugins.items():
        registry.register(name, lambda _args, _handle, plugin=plugin: plugin)
    added = PluginSetConfig(enabled=tuple(PluginRef(name=name) for name in plugins))
    return build_framework(
        Profile(plugins=PluginsConfig(multi_point=added)),
        registry,
        make_cache(make_node("a"), make_node("b"), make_node("small", cpu="500m")),
        random.Random(0),
        Timing(TickingClock(), lambda *_: None),
    )


def spans(measurements: Measurements) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    measurements.fetch(lambda point, status, _seconds: found.append((point, status)), lambda *_: None)
    return found


def evaluations(measurements: Measurements) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()

    def evaluated(plugin: str, point: str, number: int) -> None:
        found[plugin, point] += number

    measurements.fetch(lambda *_: None, evaluated)
    return found


def test_each_decision_is_timed_by_extension_point() -> None:
    framework = measured()
    framework.schedule(make_pod(cpu="1"))
    framework.schedule(make_pod(cpu="99"))

    success = [(point, "Success") for point in ("PreFilter", "Filter", "PreScore", "Score")]
    assert spans(framework.measurements) == [*success, ("PreFilter", "Success"), ("Filter", "Success")]
    assert spans(framework.measurements) == []


def test_what_follows_a_decision_is_timed_too_and_tells_how_it_ended() -> None:
    class Fussy:
        def reserve(self, *_: Any) -> Status:
            return Status(Code.UNSCHEDULABLE, ("no",))

        def unreserve(self, *_: Any) -> None:
            raise RuntimeError

        def permit(self, *_: Any) -> Status:
            return wait(1)

        def pre_bind(self, *_: Any) -> Status:
            raise RuntimeError

        def post_filter(self, *_: Any) -> Status:
            return Status(Code.UNSCHEDULABLE, ("no help",))

    framework = measured(Fussy=Fussy())
    pod = make_pod(cpu="99")
    framework.schedule(pod)
    framework.reserve(pod, "a")
    framework.permit(pod, "a")
    framework.pre_bind(pod, "a")
    framework.post_bind(pod, "a")

    assert spans(framework.measurements) == [
        ("PreFilter", "Success"),
        ("Filter", "Success"),
        ("PostFilter", "Unschedulable"),
        ("Reserve", "Unschedulable"),
        ("Unreserve", "Success"),
        ("Permit", "Wait"),
        ("PreBind", "Error"),
        ("PostBind", "Success"),
    ]


@pytest.mark.parametrize(
    ("answer", "code"),
    [(Status(Code.PENDING, ("not yet",)), "Pending"), (RuntimeError("boom"), "Error")],
)
def test_a_point_that_refuses_or_fails_says_so(answer: Any, code: str) -> None:
    class Refuses:
        def pre_filter(self, *_: Any) -> Status:
            if isinstance(answer, Exception):
                raise answer
            assert isinstance(answer, Status)
            return answer

    framework = measured(Refuses=Refuses())
    framework.schedule(make_pod())

    assert spans(framework.measurements) == [("PreFilter", code)]


def test_times_are_in_seconds() -> None:
    measurements, seconds = Measurements(TickingClock()), list[float]()
    with measurements.span("Filter"):
        pass
    measurements.fetch(lambda _point, _status, took: seconds.append(took), lambda *_: None)

    assert seconds == [1.0]


def test_evaluations_are_counted_as_kube_scheduler_counts_them() -> None:
    class Likes:
        def score_node(self, _pod: Pod, _node: NodeInfo) -> float:
            return 1

        def permit(self, *_: Any) -> Status:
            return SUCCESS

    framework = measured(Likes=Likes())
    for _ in range(2):
        framework.schedule(make_pod(cpu="1", spec={"nodeSelector": {}}))
    found = evaluations(framework.measurements)

    # Skipped before it could look at any node.
    assert ("NodePorts", "PreFilter") not in found
    assert ("NodePorts", "Filter") not in found
    # All nodes by those before NodeResourcesFit and itself, and the two that are left by those after it.
    assert found["TaintToleration", "Filter"] == 6
    assert found["NodeResourcesFit", "Filter"] == 6
    assert found["NodeResourcesFit", "Score"] == 4
    assert found["Likes", "Score"] == 4
    assert found["NodeResourcesBalancedAllocation", "PreScore"] == 2
    assert ("PodTopologySpread", "PreScore") not in found
    assert evaluations(framework.measurements) == Counter()


def test_without_a_clock_no_times_are_kept() -> None:
    framework = make_framework(make_cache(make_node()))
    framework.schedule(make_pod())

    assert spans(framework.measurements) == []
