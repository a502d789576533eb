from __future__ import annotations

from typing import Any

import pytest

from tests.clocks import SetClock
from webhook.binder.in_flight_events import InFlightEvents
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import Place, QueuedPod
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.status import SUCCESS, Code, Status
from webhook.scheduling.testing import make_framework, make_node, make_pod

NODE_ADDED = ClusterEvent(Resource.NODE, Action.ADD)
LABELS_CHANGED = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETED = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)

# By event, the object before and after it; each helps the pods of these tests.
CHANGES: dict[ClusterEvent, tuple[Node | Pod | None, Node | Pod | None]] = {
    NODE_ADDED: (None, make_node(labels={"disk": "ssd"})),
    LABELS_CHANGED: (make_node(), make_node(labels={"disk": "ssd"})),
    POD_DELETED: (make_pod("gone", node="node"), None),
}

FIT = frozenset({"NodeResourcesFit"})
AFFINITY = frozenset({"NodeAffinity"})


class Harness:
    def __init__(self, **plugins: object) -> None:
        self.clock = SetClock(100.0)
        framework = make_framework(Cache(), **plugins)
        self.queue = SchedulingQueue({"custom-scheduler": framework}, self.clock)

    def add(self, *names: str, **options: Any) -> None:
        for name in names:
            self.queue.add(pod(name, **options))

    def pop(self) -> QueuedPod:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def pop_names(self) -> list[str]:
        names = []
        while (queued := self.queue.pop()) is not None:
            names.append(queued.pod.metadata.name)
            self.queue.remove(queued.pod.metadata.uid)
        return names

    def reject(self, name: str, by: frozenset[str] = FIT) -> QueuedPod:
        """Add a pod, try it and have it rejected."""
        self.add(name)
        queued = self.pop()
        self.queue.reject(queued, by)
        return queued

    def wake(self, event: ClusterEvent, *, but: QueuedPod | None = None) -> None:
        self.queue.wake(event, *CHANGES[event], but=but)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.queue.flush()

    def counts(self) -> dict[Place, int]:
        return {place: count for place in Place if (count := self.queue.count(place))}


def pod(
    name: str,
    priority: int = 0,
    *,
    gates: tuple[str, ...] = (),
    labels: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
) -> Pod:
    spec = {
        "schedulerName": "custom-scheduler",
        "priority": priority,
        "nodeSelector": {"disk": "ssd"},
        "schedulingGates": [{"name": gate} for gate in gates],
    }
    return make_pod(name, spec=spec, labels=labels, status=status)


def uid(name: str) -> str:
    return pod(name).metadata.uid


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_the_higher_priority_goes_first_and_of_equals_the_older(harness: Harness) -> None:
    harness.add("low-1")
    harness.clock.now += 1
    harness.add("low-2")
    harness.add("high", priority=10)

    assert harness.pop_names() == ["high", "low-1", "low-2"]


def test_an_empty_queue_gives_nothing(harness: Harness) -> None:
    assert harness.queue.pop() is None


def test_a_popped_pod_is_in_flight_and_counts_its_attempt(harness: Harness) -> None:
    harness.add("a")
    queued = harness.pop()

    assert (queued.attempts, queued.first_attempt_at) == (1, 100.0)
    assert harness.counts() == {Place.IN_FLIGHT: 1}
    assert harness.queue.pop() is None


def test_a_rejected_pod_waits_for_an_event_that_its_plugin_registered(harness: Harness) -> None:
    harness.reject("a", AFFINITY)
    harness.pass_time(60)

    harness.wake(POD_DELETED)
    assert harness.counts() == {Place.UNSCHEDULABLE: 1}
    harness.wake(LABELS_CHANGED)
    assert harness.counts() == {Place.ACTIVE: 1}


def test_an_event_wakes_all_that_wait_for_it_and_no_others(harness: Harness) -> None:
    harness.reject("a", FIT)
    harness.reject("b", AFFINITY)
    harness.reject("c", FIT)
    harness.pass_time(60)
    harness.wake(POD_DELETED)

    assert harness.counts() == {Place.ACTIVE: 2, Place.UNSCHEDULABLE: 1}


def test_a_pod_is_not_woken_by_the_event_that_it_caused_itself(harness: Harness) -> None:
    queued = harness.reject("a")
    harness.reject("b")
    harness.pass_time(60)
    harness.wake(POD_DELETED, but=queued)

    assert harness.pop_names() == ["b"]


def test_a_pod_that_no_plugin_rejected_is_woken_by_any_event(harness: Harness) -> None:
    harness.reject("a", frozenset())
    harness.pass_time(60)
    harness.wake(LABELS_CHANGED)

    assert harness.counts() == {Place.ACTIVE: 1}


def test_a_pod_woken_within_its_backoff_backs_off_until_it_ends(harness: Harness) -> None:
    harness.reject("a")
    harness.wake(NODE_ADDED)

    assert harness.counts() == {Place.BACKOFF: 1}
    assert harness.queue.next_flush() == 101.0
    harness.pass_time(1.0)
    assert harness.counts() == {Place.ACTIVE: 1}
    assert harness.queue.next_flush() is None


def test_backoffs_double_up_to_ten_seconds(harness: Harness) -> None:
    harness.add("a")
    ends = []
    for _ in range(6):
        harness.queue.reject(harness.pop(), FIT)
        harness.wake(NODE_ADDED)
        end = harness.queue.next_flush()
        assert end is not None
        ends.append(end - harness.clock.now)

    assert ends == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_with_nothing_active_a_pod_that_backs_off_comes_early(harness: Harness) -> None:
    harness.reject("a")
    harness.wake(NODE_ADDED)

    assert harness.pop().pod.metadata.name == "a"


def test_an_active_pod_comes_before_one_that_backs_off(harness: Harness) -> None:
    harness.reject("a")
    harness.wake(NODE_ADDED)
    harness.add("b")

    assert harness.pop_names() == ["b", "a"]


def test_after_an_error_a_pod_waits_out_its_backoff_whatever_happens(harness: Harness) -> None:
    harness.add("a")
    harness.queue.retry_later(harness.pop())
    harness.wake(NODE_ADDED)

    assert harness.queue.pop() is None
    harness.pass_time(0.9)
    assert harness.queue.pop() is None
    harness.pass_time(0.2)
    assert harness.pop().attempts == 2


def test_errors_and_rejections_back_off_apart(harness: Harness) -> None:
    harness.add("a")
    for _ in range(3):
        harness.queue.retry_later(harness.pop())
        harness.pass_time(10)
    harness.queue.reject(harness.pop(), FIT)
    harness.wake(NODE_ADDED)

    assert harness.queue.next_flush() == harness.clock.now + 1


def test_a_rejection_ends_the_row_of_errors(harness: Harness) -> None:
    harness.add("a")
    harness.queue.retry_later(harness.pop())
    harness.pass_time(1)
    harness.queue.reject(harness.pop(), FIT)
    harness.wake(NODE_ADDED)
    harness.queue.retry_later(harness.pop())

    assert harness.queue.next_flush() == harness.clock.now + 1


def test_an_event_during_the_attempt_is_not_missed(harness: Harness) -> None:
    harness.add("a")
    queued = harness.pop()
    harness.wake(NODE_ADDED)
    harness.queue.reject(queued, FIT)

    assert harness.counts() == {Place.BACKOFF: 1}


@pytest.mark.parametrize("event", [LABELS_CHANGED, NODE_ADDED])
def test_an_event_before_the_attempt_or_of_no_concern_wakes_nobody(
    harness: Harness, event: ClusterEvent
) -> None:
    harness.wake(NODE_ADDED)
    harness.add("a")
    queued = harness.pop()
    if event is LABELS_CHANGED:
        harness.wake(event)
    harness.queue.reject(queued, FIT)

    assert harness.counts() == {Place.UNSCHEDULABLE: 1}


def test_only_pods_that_an_event_can_help_are_woken(harness: Harness) -> None:
    queued = harness.reject("a")
    harness.pass_time(60)

    places = []
    for node in (make_node(cpu="0", pods="0"), make_node()):
        harness.queue.wake(NODE_ADDED, None, node)
        places.append(queued.place)

    assert places == [Place.UNSCHEDULABLE, Place.ACTIVE]


def test_what_a_pod_missed_is_judged_by_the_objects_of_that_time(harness: Harness) -> None:
    harness.add("a")
    queued = harness.pop()
    harness.queue.wake(NODE_ADDED, None, make_node(cpu="0", pods="0"))
    harness.queue.reject(queued, FIT)

    assert queued.place is Place.UNSCHEDULABLE


def test_a_pod_that_missed_more_than_is_kept_is_tried_again(harness: Harness) -> None:
    harness.queue._events = InFlightEvents(most=4)
    harness.add("a")
    queued = harness.pop()
    for _ in range(5):
        harness.queue.wake(NODE_ADDED, None, make_node(cpu="0", pods="0"))
    harness.queue.reject(queued, FIT)

    assert queued.place is Place.BACKOFF


def test_events_are_kept_only_as_long_as_a_pod_is_in_flight_that_may_ask_for_them(harness: Harness) -> None:
    harness.wake(NODE_ADDED)
    assert harness.queue._events.now == 0
    harness.add("a", "b")
    first = harness.pop()
    harness.wake(NODE_ADDED)
    second = harness.pop()
    harness.wake(NODE_ADDED)
    assert len(harness.queue._events.since(0) or ()) == 2
    harness.queue.remove(first.pod.metadata.uid)
    assert harness.queue._events.since(0) is None
    assert len(harness.queue._events.since(1) or ()) == 1
    harness.queue.put_back(second)
    assert harness.queue._events.since(1) is None


PENDING = frozenset({"Waits"})


def test_a_pod_that_a_plugin_called_pending_skips_its_backoff_when_that_plugin_is_served(
    harness: Harness,
) -> None:
    harness.add("a")
    queued = harness.pop()
    harness.queue.reject(queued, PENDING | FIT, PENDING)
    harness.wake(NODE_ADDED)

    assert queued.place is Place.ACTIVE


def test_what_serves_only_another_plugin_does_not_end_the_backoff_of_a_pending_pod() -> None:
    class Waits:
        def pre_filter(self, _pod: Pod, _nodes: object) -> Status:
            return Status(Code.PENDING)

        def events_to_register(self) -> tuple[ClusterEvent, ...]:
            return (LABELS_CHANGED,)

    harness = Harness(Waits=Waits())
    harness.add("a")
    queued = harness.pop()
    harness.queue.reject(queued, PENDING | FIT, PENDING)

    harness.wake(NODE_ADDED)
    assert queued.place is Place.BACKOFF


def test_an_event_during_the_attempt_activates_a_pending_pod_at_once(harness: Harness) -> None:
    harness.add("a")
    queued = harness.pop()
    harness.wake(NODE_ADDED)
    harness.queue.reject(queued, PENDING, PENDING)

    assert queued.place is Place.ACTIVE


def test_after_another_attempt_a_flushed_pod_counts_as_flushed_no_more(harness: Harness) -> None:
    queued = harness.reject("a")
    harness.pass_time(330)
    assert queued.flushed
    harness.queue.reject(harness.pop(), FIT)

    assert not queued.flushed


def test_after_five_minutes_an_unschedulable_pod_is_tried_without_any_event(harness: Harness) -> None:
    queued = harness.reject("a")
    harness.pass_time(300)
    assert harness.counts() == {Place.UNSCHEDULABLE: 1}
    harness.pass_time(30)

    assert harness.counts() == {Place.ACTIVE: 1}
    assert queued.flushed


def test_a_rejected_pod_goes_behind_those_of_its_priority(harness: Harness) -> None:
    harness.add("a")
    first = harness.pop()
    harness.add("b")
    harness.clock.now += 1
    harness.queue.reject(first, FIT)
    harness.pass_time(60)
    harness.wake(NODE_ADDED)

    assert harness.pop_names() == ["b", "a"]


def test_one_impossible_pod_of_high_priority_starves_nobody(harness: Harness) -> None:
    harness.add("impossible", priority=1000)
    harness.add(*[f"small-{number}" for number in range(100)])
    bound = []
    for _ in range(101):
        queued = harness.pop()
        if queued.pod.priority:
            harness.queue.reject(queued, FIT)
        else:
            bound.append(queued.pod.metadata.name)
            harness.queue.remove(queued.pod.metadata.uid)
            harness.wake(POD_DELETED)

    assert len(bound) == 100


def test_a_gated_pod_is_kept_out_until_its_gates_are_gone(harness: Harness) -> None:
    harness.add("a", gates=("first", "second"))
    harness.wake(NODE_ADDED)
    harness.pass_time(3600)
    assert harness.counts() == {Place.GATED: 1}
    harness.queue.update(pod("a", gates=("second",)))
    assert harness.counts() == {Place.GATED: 1}
    harness.queue.update(pod("a"))

    assert harness.pop().attempts == 1


def test_a_pod_kept_out_by_another_plugin_is_looked_at_again_on_events() -> None:
    class Door:
        open = False

        def pre_enqueue(self, pod: Pod) -> Status:
            return SUCCESS if self.open else Status(Code.UNSCHEDULABLE, ("closed",))

    door = Door()
    harness = Harness(Door=door)
    harness.add("a")
    harness.wake(NODE_ADDED)
    assert harness.counts() == {Place.GATED: 1}
    door.open = True
    harness.wake(NODE_ADDED)

    assert harness.counts() == {Place.ACTIVE: 1}


@pytest.mark.parametrize(("by", "woken"), [("InterPodAffinity", True), ("NodeResourcesFit", False)])
def test_a_change_of_the_pod_itself_wakes_it_if_that_can_help(harness: Harness, by: str, woken: bool) -> None:
    queued = harness.reject("a", frozenset({by}))
    harness.pass_time(60)
    harness.queue.update(pod("a", labels={"custom": "yes"}))

    assert harness.counts() == {Place.ACTIVE if woken else Place.UNSCHEDULABLE: 1}
    assert queued.pod.labels == {"custom": "yes"}


def test_a_change_of_its_status_does_not_wake_a_pod(harness: Harness) -> None:
    harness.reject("a")
    harness.pass_time(60)
    harness.queue.update(pod("a", status={"conditions": [{"type": "PodScheduled", "status": "False"}]}))

    assert harness.counts() == {Place.UNSCHEDULABLE: 1}


def test_a_change_during_the_attempt_is_not_missed(harness: Harness) -> None:
    harness.add("a")
    harness.add("b")
    queued, other = harness.pop(), harness.pop()
    harness.queue.update(pod("a", labels={"custom": "yes"}))
    for each in (queued, other):
        harness.queue.reject(each, frozenset({"InterPodAffinity"}))

    assert (queued.place, other.place) == (Place.BACKOFF, Place.UNSCHEDULABLE)


def test_a_new_priority_moves_an_active_pod(harness: Harness) -> None:
    harness.add("a", "b")
    harness.queue.update(pod("b", priority=5))

    assert harness.pop_names() == ["b", "a"]


@pytest.mark.parametrize(
    "place", ["active", "backoff", "error backoff", "unschedulable", "gated", "in flight"]
)
def test_a_removed_pod_is_gone_from_wherever_it_was(harness: Harness, place: str) -> None:
    match place:
        case "active":
            harness.add("a")
        case "backoff":
            harness.reject("a")
            harness.wake(NODE_ADDED)
        case "error backoff":
            harness.add("a")
            harness.queue.retry_later(harness.pop())
        case "unschedulable":
            harness.reject("a")
        case "gated":
            harness.add("a", gates=("gate",))
        case "in flight":
            harness.add("a")
            harness.pop()
    assert harness.counts() == {Place(place): 1}
    harness.queue.remove(uid("a"))

    assert harness.counts() == {}
    assert uid("a") not in harness.queue
    harness.wake(NODE_ADDED)
    harness.pass_time(3600)
    assert harness.queue.pop() is None
    assert harness.queue.next_flush() is None


def test_removing_an_unknown_pod_does_nothing(harness: Harness) -> None:
    harness.queue.remove("never-seen")

    assert harness.counts() == {}


@pytest.mark.parametrize("recreated", [False, True])
def test_a_pod_removed_in_flight_is_not_put_back(harness: Harness, recreated: bool) -> None:
    harness.add("a")
    queued = harness.pop()
    harness.queue.remove(uid("a"))
    if recreated:
        harness.add("a")
    before = harness.counts()
    harness.queue.reject(queued, FIT)
    harness.queue.retry_later(queued)
    harness.queue.put_back(queued)

    assert harness.counts() == before


def test_an_attempt_given_up_costs_no_backoff(harness: Harness) -> None:
    harness.add("a")
    harness.queue.put_back(harness.pop())

    assert harness.counts() == {Place.ACTIVE: 1}


def test_pods_that_come_and_go_unpopped_leave_nothing_behind(harness: Harness) -> None:
    for number in range(1000):
        harness.add(f"pod-{number}")
        harness.queue.remove(uid(f"pod-{number}"))

    assert len(harness.queue._active) < 100
