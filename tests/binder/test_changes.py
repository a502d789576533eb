from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import pytest

from tests.binder.scheduler import bound_to, pod
from webhook.binder.changes import apply_node_change, apply_other_change, apply_pod_change
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import Place
from webhook.kube.informer import Change
from webhook.kube.meta import HasMetadata
from webhook.scheduling.cache import Cache
from webhook.scheduling.kinds import KINDS
from webhook.scheduling.labels import EVERYTHING
from webhook.scheduling.objects import Namespace, PersistentVolumeClaim, Pod, ReplicaSet, Service
from webhook.scheduling.testing import make_framework, make_node, make_pod

T = TypeVar("T")

OURS = {"custom-scheduler"}


class Harness:
    def __init__(self) -> None:
        self.cache = Cache()
        self.queue = SchedulingQueue({"custom-scheduler": make_framework(self.cache)}, lambda: 0.0)

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        apply_pod_change(Change(old=old, new=new), self.cache, self.queue, OURS)

    def other(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        (kind,) = [each for each in KINDS if each.type is type(old or new)]
        apply_other_change(kind, Change(old=old, new=new), self.cache, self.queue)

    def active(self) -> int:
        return self.queue.count(Place.ACTIVE)


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_a_pod_of_ours_without_a_node_is_queued(harness: Harness) -> None:
    harness.pod(None, pod("a"))

    assert harness.active() == 1


@pytest.mark.parametrize(
    "other",
    [
        make_pod("b", spec={"schedulerName": "default-scheduler"}),
        pod("b", node="node-1"),
        pod("b", status={"phase": "Failed"}),
        pod("b", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ],
)
def test_other_pods_are_not_queued(harness: Harness, other: Pod) -> None:
    harness.pod(None, other)

    assert harness.active() == 0


@pytest.mark.parametrize(
    "after", [None, bound_to(pod("a"), "node-1"), pod("a", metadata={"deletionTimestamp": "now"})]
)
def test_a_pod_that_needs_no_node_any_more_leaves_the_queue(harness: Harness, after: Pod | None) -> None:
    harness.pod(None, pod("a"))
    harness.pod(pod("a"), after)

    assert pod("a").metadata.uid not in harness.queue


def test_a_pod_with_a_node_counts_there_until_it_goes(harness: Harness) -> None:
    harness.pod(None, pod("a", node="node-1"))
    assert harness.cache.node_of(pod("a").metadata.uid) == "node-1"
    harness.pod(pod("a", node="node-1"), None)

    assert harness.cache.node_of(pod("a").metadata.uid) is None


def test_a_pod_that_we_bound_is_not_queued_again_by_a_watch_that_is_behind(harness: Harness) -> None:
    harness.cache.assume(pod("a"), "node-1")
    harness.pod(pod("a"), pod("a", labels={"new": "label"}))

    assert harness.active() == 0
    assert harness.cache.is_assumed(pod("a").metadata.uid)


def test_nodes_come_change_and_go(harness: Harness) -> None:
    node = make_node("node-1", cpu="1")
    apply_node_change(Change(old=None, new=node), harness.cache, harness.queue)
    assert harness.cache.node_uid("node-1") == node.metadata.uid
    larger = make_node("node-1", cpu="2")
    apply_node_change(Change(old=node, new=larger), harness.cache, harness.queue)
    assert harness.cache.table.amounts.allocatable("cpu").tolist() == [2000]
    apply_node_change(Change(old=larger, new=None), harness.cache, harness.queue)

    assert harness.cache.node_uid("node-1") is None


def test_room_that_a_pod_leaves_wakes_those_that_wait_for_it(harness: Harness) -> None:
    harness.pod(None, pod("a"))
    queued = harness.queue.pop()
    assert queued is not None
    harness.queue.reject(queued, frozenset({"NodeResourcesFit"}))
    harness.pod(None, pod("b", node="node-1"))
    assert harness.queue.count(Place.UNSCHEDULABLE) == 1
    harness.pod(pod("b", node="node-1"), None)

    assert harness.queue.count(Place.BACKOFF) == 1


def test_a_node_change_that_helps_nobody_wakes_nobody(harness: Harness) -> None:
    harness.pod(None, pod("a"))
    queued = harness.queue.pop()
    assert queued is not None
    harness.queue.reject(queued, frozenset({"NodeResourcesFit"}))
    node = make_node("node-1")
    beat = msgspec.structs.replace(
        node, metadata=msgspec.structs.replace(node.metadata, resource_version="2")
    )
    apply_node_change(Change(old=node, new=beat), harness.cache, harness.queue)

    assert harness.queue.count(Place.UNSCHEDULABLE) == 1


def decoded(kind: type[T], name: str, **more: Any) -> T:
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, **more}, kind)


def test_labels_of_namespaces_are_taken_over_and_forgotten(harness: Harness) -> None:
    theirs = msgspec.convert({"metadata": {"name": "theirs", "labels": {"team": "a"}}}, Namespace)

    harness.other(None, theirs)
    known = harness.cache.namespaces.labels("theirs")
    harness.other(theirs, None)

    assert known == {"team": "a"}
    assert harness.cache.namespaces.labels("theirs") == {}


def test_services_and_controllers_are_taken_over_and_forgotten(harness: Harness) -> None:
    web = decoded(Service, "web", spec={"selector": {"app": "web"}})
    owner = decoded(ReplicaSet, "owner", spec={"selector": {"matchLabels": {"hash": "1"}}})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "controller": True}
    replica = make_pod(labels={"app": "web"}, metadata={"ownerReferences": [reference]})

    harness.other(None, web)
    harness.other(None, owner)
    known = harness.cache.workloads.replicas_of(replica)
    harness.other(web, None)
    harness.other(owner, None)

    assert known == EVERYTHING.requiring({"app": "web", "hash": "1"})
    assert harness.cache.workloads.replicas_of(replica) == EVERYTHING


def test_a_claim_wakes_the_pods_that_wait_for_storage_and_no_others(harness: Harness) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    for name, plugin, own in (
        ("a", "VolumeBinding", volumes),
        ("b", "VolumeBinding", []),
        ("c", "NodeResourcesFit", volumes),
    ):
        harness.pod(None, pod(name, spec={"volumes": own}))
        queued = harness.queue.pop()
        assert queued is not None
        harness.queue.reject(queued, frozenset({plugin}))
    claim = decoded(PersistentVolumeClaim, "c")

    harness.other(None, claim)
    known = harness.cache.storage.claim("default", "c")
    harness.other(claim, None)

    assert known == claim
    assert harness.cache.storage.claim("default", "c") is None
    assert (harness.queue.count(Place.BACKOFF), harness.queue.count(Place.UNSCHEDULABLE)) == (1, 2)
