from __future__ import annotations

import msgspec
import pytest

from webhook.scheduling.events import (
    Action,
    ClusterEvent,
    Resource,
    assigned_pod_event,
    node_event,
    object_event,
    target_pod_event,
)
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.testing import make_node, make_pod

NODE = make_node("n", labels={"a": "1"})
POD = make_pod(cpu="1", node="n")


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        (None, NODE, Action.ADD),
        (NODE, None, Action.DELETE),
        (NODE, NODE, None),
        (None, None, None),
        (NODE, make_node("n", labels={"a": "2"}), Action.UPDATE_NODE_LABEL),
        (NODE, make_node("n", labels={"a": "1"}, cpu="8"), Action.UPDATE_NODE_ALLOCATABLE),
        (NODE, make_node("n", labels={"a": "1"}, unschedulable=True), Action.UPDATE_NODE_TAINT),
        (NODE, make_node("n", labels={"a": "1"}, taints=["x:NoSchedule"]), Action.UPDATE_NODE_TAINT),
        (NODE, make_node("n", labels={"a": "1"}, images={"i": 1}), None),
        (NODE, make_node("n", cpu="8"), Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
    ],
)
def test_a_nodes_change_is_told_by_what_changed(
    old: Node | None, new: Node | None, action: Action | None
) -> None:
    assert node_event(old, new) == (None if action is None else ClusterEvent(Resource.NODE, action))


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        (None, POD, Action.ADD),
        (make_pod(cpu="1"), POD, Action.ADD),
        (POD, None, Action.DELETE),
        (POD, make_pod(cpu="1", node="n", status={"phase": "Succeeded"}), Action.DELETE),
        (make_pod(node="n", status={"phase": "Failed"}), None, None),
        (make_pod(), make_pod(labels={"a": "1"}), None),
        (POD, POD, None),
        (POD, make_pod(cpu="500m", node="n"), Action.UPDATE_POD_SCALE_DOWN),
        (POD, make_pod(cpu="2", node="n"), None),
        (POD, make_pod(cpu="1", node="n", labels={"a": "1"}), Action.UPDATE_POD_LABEL),
        (
            POD,
            make_pod(cpu="1", node="n", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            Action.UPDATE,
        ),
    ],
)
def test_an_assigned_pods_change_is_told_by_what_it_may_make_room_for(
    old: Pod | None, new: Pod | None, action: Action | None
) -> None:
    assert assigned_pod_event(old, new) == (
        None if action is None else ClusterEvent(Resource.ASSIGNED_POD, action)
    )


GATED = make_pod(spec={"schedulingGates": [{"name": "g"}]})


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        (make_pod(), make_pod(), None),
        (make_pod(), make_pod(status={"phase": "Pending"}), None),
        (make_pod(), make_pod(labels={"a": "1"}), Action.UPDATE_POD_LABEL),
        (make_pod(), make_pod(spec={"tolerations": [{"key": "a"}]}), Action.UPDATE_POD_TOLERATION),
        (make_pod(cpu="2"), make_pod(cpu="1"), Action.UPDATE_POD_SCALE_DOWN),
        (make_pod(cpu="1"), make_pod(cpu="2"), Action.UPDATE),
        (GATED, make_pod(), Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
        (make_pod(), make_pod(metadata={"annotations": {"a": "1"}}), Action.UPDATE),
    ],
)
def test_a_waiting_pods_change_is_told_by_what_it_may_help_against(
    old: Pod, new: Pod, action: Action | None
) -> None:
    assert target_pod_event(old, new) == (
        None if action is None else ClusterEvent(Resource.TARGET_POD, action)
    )


def test_a_nodes_condition_annotation_and_features_are_told_apart() -> None:
    changed = {
        Action.UPDATE_NODE_CONDITION: {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        Action.UPDATE_NODE_ANNOTATION: {"metadata": {"annotations": {"a": "1"}}},
        Action.UPDATE_NODE_DECLARED_FEATURE: {"status": {"declaredFeatures": ["F"]}},
    }

    for action, manifest in changed.items():
        assert node_event(Node(), msgspec.convert(manifest, Node)) == ClusterEvent(Resource.NODE, action)


def test_events_match_by_kind_and_any_common_action() -> None:
    waits = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)

    assert waits.matches(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT))
    assert not waits.matches(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT))
    assert not waits.matches(ClusterEvent(Resource.ASSIGNED_POD, Action.ADD))


def test_other_objects_come_go_or_change() -> None:
    kind, one, other = Resource.PERSISTENT_VOLUME, object(), object()

    assert object_event(kind, None, one) == ClusterEvent(kind, Action.ADD)
    assert object_event(kind, one, other) == ClusterEvent(kind, Action.UPDATE)
    assert object_event(kind, one, None) == ClusterEvent(kind, Action.DELETE)
    assert object_event(kind, one, one) is None
