from __future__ import annotations

from webhook.binder.in_flight_events import InFlightEvents
from webhook.scheduling.events import Action, ClusterEvent, Happening, Resource


def happening(number: int) -> Happening:
    return Happening(ClusterEvent(Resource.NODE, Action.ADD), None, number)


def test_each_pod_is_told_what_came_after_it() -> None:
    events = InFlightEvents()
    events.add(happening(1))
    then = events.now
    events.add(happening(2))

    assert events.since(0) == [happening(1), happening(2)]
    assert events.since(then) == [happening(2)]
    assert events.since(events.now) == []


def test_what_nobody_asks_for_any_more_is_dropped() -> None:
    events = InFlightEvents()
    for number in range(5):
        events.add(happening(number))
    events.forget_before(3)

    assert events.since(3) == [happening(3), happening(4)]
    assert events.since(2) is None
    assert events.now == 5


def test_it_does_not_grow_without_end() -> None:
    events = InFlightEvents(most=10)
    for number in range(1000):
        events.add(happening(number))

    assert events.now == 1000
    assert events.since(0) is None
    assert events.since(999) == [happening(999)]
    assert len(events._events) <= 10
