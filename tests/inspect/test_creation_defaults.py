from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.errors import ConfigurationError
from webhook.inspect.creation_defaults import CreationDefaults, LimitRange, PriorityClass
from webhook.scheduling.objects import Pod
from webhook.scheduling.resources import incoming_requests
from webhook.scheduling.testing import make_pod


def limit_range(*limits: dict[str, Any], namespace: str = "default") -> LimitRange:
    manifest = {"metadata": {"name": "lr", "namespace": namespace}, "spec": {"limits": limits}}
    return msgspec.convert(manifest, LimitRange)


def priority_class(name: str, value: int, **options: Any) -> PriorityClass:
    return msgspec.convert({"metadata": {"name": name}, "value": value, **options}, PriorityClass)


def applied(pod: Pod, *items: LimitRange | PriorityClass) -> Pod:
    defaults = CreationDefaults()
    for item in items:
        defaults.put(item)
    return defaults.apply(pod)


CONTAINERS = {
    "type": "Container",
    "default": {"cpu": "2", "memory": "2Gi"},
    "defaultRequest": {"cpu": "1", "memory": "1Gi"},
}


def test_a_container_that_says_nothing_gets_what_its_namespace_gives() -> None:
    pod = applied(make_pod(spec={"initContainers": [{"name": "first"}]}), limit_range(CONTAINERS))

    for container in (*pod.containers, *pod.spec.init_containers):
        assert container.resources.requests == {"cpu": "1", "memory": "1Gi"}
        assert container.resources.limits == {"cpu": "2", "memory": "2Gi"}
    assert incoming_requests(pod)["cpu"] == 1000


def test_what_a_container_says_itself_stays() -> None:
    pod = applied(make_pod(cpu="3"), limit_range(CONTAINERS))

    assert pod.containers[0].resources.requests == {"cpu": "3", "memory": "1Gi"}


@pytest.mark.parametrize(
    "other",
    [
        limit_range(CONTAINERS, namespace="other"),
        limit_range({**CONTAINERS, "type": "Pod"}),
        limit_range({"type": "Container", "max": {"cpu": "9"}}),
    ],
)
def test_limits_of_other_namespaces_and_kinds_add_nothing(other: LimitRange) -> None:
    assert applied(make_pod(), other) == make_pod()


def test_of_several_limit_ranges_the_first_and_in_one_the_last_entry_holds() -> None:
    def request(cpu: str) -> dict[str, Any]:
        return {"type": "Container", "defaultRequest": {"cpu": cpu}}

    pod = applied(make_pod(), limit_range(request("1"), request("2")), limit_range(request("3")))

    assert pod.containers[0].resources.requests == {"cpu": "2"}


HIGH = priority_class("high", 1000, preemptionPolicy="Never")


def test_a_priority_class_gives_its_priority() -> None:
    pod = applied(make_pod(spec={"priorityClassName": "high"}), HIGH)

    assert (pod.priority, pod.spec.preemption_policy) == (1000, "Never")


def test_a_pod_that_names_no_class_gets_the_lowest_of_the_default_ones() -> None:
    defaults = [priority_class(name, value, globalDefault=True) for name, value in (("a", 20), ("b", 10))]

    assert applied(make_pod(), HIGH, *defaults).priority == 10
    assert applied(make_pod(), HIGH).spec.priority is None


def test_a_class_that_is_not_there_is_refused_as_by_the_api_server() -> None:
    pod = make_pod(spec={"priorityClassName": "missing"})

    with pytest.raises(
        ConfigurationError, match="no PriorityClass with name missing was found; there are: high"
    ):
        applied(pod, HIGH)


def test_where_no_class_is_known_the_systems_own_are() -> None:
    assert applied(make_pod(spec={"priorityClassName": "system-node-critical"})).priority == 2_000_001_000
    assert applied(make_pod(spec={"priorityClassName": "missing"})).spec.priority is None
