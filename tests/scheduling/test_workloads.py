from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.labels import EVERYTHING, Selector
from webhook.scheduling.objects import Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from webhook.scheduling.testing import make_pod
from webhook.scheduling.workloads import Controller, Workloads


def service(name: str, namespace: str = "default", **selector: str) -> Service:
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, Service
    )


def controller(kind: type[Controller], selector: Any) -> Controller:
    manifest = {"metadata": {"name": "owner", "namespace": "default"}, "spec": {"selector": selector}}
    return msgspec.convert(manifest, kind)


def owned(api_version: str, kind: str, *, controls: bool = True, **labels: str) -> Pod:
    owner = {"apiVersion": api_version, "kind": kind, "name": "owner", "controller": controls}
    return make_pod(labels=labels, metadata={"ownerReferences": [owner]})


def equal(**labels: str) -> Selector:
    return EVERYTHING.requiring(labels)


def test_all_services_that_select_the_pod_count_together() -> None:
    workloads = Workloads()
    workloads.set_service(service("all", app="web"))
    workloads.set_service(service("some", app="web", tier="1"))
    workloads.set_service(service("others", app="db"))
    workloads.set_service(service("elsewhere", namespace="other", app="web"))
    workloads.set_service(service("none"))

    assert workloads.replicas_of(make_pod(labels={"app": "web", "tier": "1"})) == equal(app="web", tier="1")
    assert workloads.replicas_of(make_pod(labels={"app": "web"})) == equal(app="web")
    assert workloads.replicas_of(make_pod(labels={"app": "cache"})).is_empty


def test_a_service_that_changes_or_goes_is_forgotten_as_it_was() -> None:
    workloads = Workloads()
    workloads.set_service(service("s", app="web"))
    workloads.set_service(service("s", app="db"))

    changed = [workloads.replicas_of(make_pod(labels={"app": app})) for app in ("web", "db")]
    workloads.remove_service(service("s", app="db"))
    workloads.remove_service(service("s", app="db"))

    assert changed == [EVERYTHING, equal(app="db")]
    assert workloads.replicas_of(make_pod(labels={"app": "db"})).is_empty


@pytest.mark.parametrize(
    ("kind", "api_version", "selector"),
    [
        (ReplicationController, "v1", {"app": "web"}),
        (ReplicaSet, "apps/v1", {"matchLabels": {"app": "web"}}),
        (StatefulSet, "apps/v1", {"matchLabels": {"app": "web"}}),
    ],
)
def test_the_controller_that_owns_the_pod_says_which_are_its_replicas(
    kind: type[Controller], api_version: str, selector: Any
) -> None:
    workloads, known = Workloads(), controller(kind, selector)
    pod = owned(api_version, kind.__name__, app="web")

    before = workloads.replicas_of(pod)
    workloads.set_controller(known)
    while_there = workloads.replicas_of(pod)
    workloads.remove_controller(known)
    workloads.remove_controller(known)

    assert while_there == equal(app="web")
    assert before == workloads.replicas_of(pod) == EVERYTHING


def test_services_and_the_controller_count_together() -> None:
    workloads = Workloads()
    workloads.set_service(service("s", app="web"))
    workloads.set_controller(controller(ReplicaSet, {"matchLabels": {"hash": "1"}}))

    assert workloads.replicas_of(owned("apps/v1", "ReplicaSet", app="web")) == equal(app="web", hash="1")


def test_a_replication_controller_overrules_services_that_select_by_another_value() -> None:
    workloads = Workloads()
    workloads.set_service(service("s", app="web", tier="1"))
    workloads.set_controller(controller(ReplicationController, {"app": "db"}))

    selector = workloads.replicas_of(owned("v1", "ReplicationController", app="web", tier="1"))

    assert selector == equal(app="db", tier="1")


@pytest.mark.parametrize(
    "pod",
    [
        owned("apps/v1", "ReplicaSet", controls=False),
        owned("extensions/v1beta1", "ReplicaSet"),
        owned("apps/v1", "StatefulSet"),
        owned("batch/v1", "Job"),
    ],
)
def test_an_owner_that_is_no_known_controller_says_nothing(pod: Pod) -> None:
    workloads = Workloads()
    workloads.set_controller(controller(ReplicaSet, {"matchLabels": {"app": "web"}}))

    assert workloads.replicas_of(pod).is_empty


def test_a_controller_without_a_selector_says_nothing() -> None:
    workloads = Workloads()
    workloads.set_controller(controller(ReplicaSet, None))

    assert workloads.replicas_of(owned("apps/v1", "ReplicaSet")).is_empty
