from __future__ import annotations

import logging
from typing import Any

import pytest

from webhook.scheduling.events import (
    Action,
    ClusterEvent,
    ClusterEventWithHint,
    Happening,
    QueueingHint,
    Resource,
)
from webhook.scheduling.objects import Pod
from webhook.scheduling.queueing_hints import QueueingHints, QueueingStrategy
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

SKIP, AFTER_BACKOFF, IMMEDIATELY = QueueingStrategy
ADDED = ClusterEvent(Resource.NODE, Action.ADD)
RELABELLED = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_GONE = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
CLAIM_BOUND = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE)
POD = make_pod()


def says(answer: Any) -> ClusterEventWithHint:
    return ClusterEventWithHint(ADDED, lambda _pod, _old, _new: answer)


def raises(_pod: Pod, _old: object, _new: object) -> QueueingHint:
    raise ZeroDivisionError


HINTS = QueueingHints(
    {
        "Yes": (says(QueueingHint.QUEUE),),
        "No": (says(QueueingHint.QUEUE_SKIP),),
        "NoHint": (ClusterEventWithHint(ADDED),),
        "Twofold": (says(QueueingHint.QUEUE_SKIP), says(QueueingHint.QUEUE)),
        "Raises": (ClusterEventWithHint(ADDED, raises),),
        "Nonsense": (says("perhaps"),),
        "Elsewhere": (ClusterEventWithHint(RELABELLED),),
        "Nothing": (),
    }
)


@pytest.mark.parametrize(
    ("rejected_by", "event", "concerned"),
    [
        ({"NodeResourcesFit"}, ADDED, True),
        ({"NodeResourcesFit"}, POD_GONE, True),
        ({"NodeResourcesFit"}, RELABELLED, False),
        ({"NodeResourcesFit", "NodeAffinity"}, RELABELLED, True),
        ({"SchedulingGates"}, ADDED, False),
        ({"Unsupported"}, POD_GONE, False),
        ({"Unsupported"}, CLAIM_BOUND, True),
        ({"Unsupported"}, ADDED, False),
        ({"NoEventsNamed"}, RELABELLED, True),
        (set[str](), RELABELLED, True),
    ],
)
def test_an_event_concerns_the_pods_whose_rejecting_plugins_wait_for_it(
    rejected_by: set[str], event: ClusterEvent, concerned: bool
) -> None:
    framework = make_framework(make_cache(make_node()))

    assert framework.queueing_hints.concern(rejected_by, event) is concerned


@pytest.mark.parametrize(
    ("rejected_by", "pending_by", "strategy"),
    [
        (set(), set(), AFTER_BACKOFF),
        ({"Yes"}, set(), AFTER_BACKOFF),
        ({"No"}, set(), SKIP),
        ({"NoHint"}, set(), AFTER_BACKOFF),
        ({"Twofold"}, set(), AFTER_BACKOFF),
        ({"Elsewhere"}, set(), SKIP),
        ({"Nothing"}, set(), SKIP),
        ({"NeverRegistered"}, set(), AFTER_BACKOFF),
        ({"No", "Yes"}, set(), AFTER_BACKOFF),
        ({"Yes"}, {"Yes"}, IMMEDIATELY),
        ({"Yes", "No"}, {"No"}, AFTER_BACKOFF),
        ({"Yes", "NoHint"}, {"NoHint"}, IMMEDIATELY),
        ({"No"}, {"No"}, SKIP),
    ],
)
def test_one_plugin_that_the_event_helps_is_enough(
    rejected_by: set[str], pending_by: set[str], strategy: QueueingStrategy
) -> None:
    assert HINTS.strategy(POD, rejected_by, pending_by, Happening(ADDED)) is strategy


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("Raises", "plugin Raises failed in queueing hint: ZeroDivisionError: "),
        ("Nonsense", "plugin Nonsense failed in queueing hint: expected a QueueingHint, got 'perhaps'"),
    ],
)
def test_a_hint_that_fails_wakes_the_pod_and_is_logged(
    plugin: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)

    assert HINTS.strategy(POD, {plugin}, set(), Happening(ADDED)) is AFTER_BACKOFF
    assert told in caplog.messages


def test_a_hint_gets_the_pod_and_the_object_before_and_after() -> None:
    got: list[tuple[object, ...]] = []

    def hint(*given: object) -> QueueingHint:
        got.append(given)
        return QueueingHint.QUEUE

    old, new = make_node(), make_node(cpu="9")
    hints = QueueingHints({"Plugin": (ClusterEventWithHint(ADDED, hint),)})
    hints.strategy(POD, {"Plugin"}, set(), Happening(ADDED, old, new))

    assert got == [(POD, old, new)]


def test_a_pods_own_change_helps_no_other_pod() -> None:
    event = ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)
    hints = QueueingHints({"Plugin": (ClusterEventWithHint(event),)})
    change = Happening(event, make_pod("a"), make_pod("a", labels={"x": "y"}))

    assert hints.strategy(make_pod("a"), {"Plugin"}, set(), change) is AFTER_BACKOFF
    assert hints.strategy(make_pod("b"), {"Plugin"}, set(), change) is SKIP
