from __future__ import annotations

import threading
import time

from tests.chaos.load import Answer, Load
from tests.waiting import eventually


def test_calls_begin_at_the_rate_whatever_becomes_of_those_before() -> None:
    begun: list[int] = []
    holding = threading.Event()

    def ask(number: int) -> Answer:
        begun.append(number)
        holding.wait()
        return Answer()

    with Load(ask, rate=200) as load:
        eventually(lambda: len(begun) >= 20, "twenty calls under way at once")
        holding.set()
        load.wait_for(20)

    assert sorted(begun) == list(range(len(begun)))
    assert load.tally.calls == len(begun)


def test_a_call_is_late_by_the_time_that_it_waited_for_its_turn_too() -> None:
    def ask(_: int) -> Answer:
        time.sleep(0.02)  # what is measured
        return Answer()

    with Load(ask, rate=500) as load:
        load.wait_for(10)

    assert load.tally.quantile(0) >= 0.02


def test_faults_are_counted_and_the_first_are_told() -> None:
    def ask(number: int) -> Answer:
        return Answer(fault="refused" if number % 2 else "")

    with Load(ask, rate=1000) as load:
        load.wait_for(50)

    assert load.tally.failed == load.tally.calls // 2
    assert len(load.tally.faults) == 10
    assert load.tally.faults[0].endswith(" s: refused")


def test_an_exception_is_a_failed_call() -> None:
    def ask(_: int) -> Answer:
        raise OSError("no route")

    with Load(ask, rate=1000) as load:
        load.wait_for(3)

    assert load.tally.failed == load.tally.calls
    assert load.tally.faults[0].endswith("OSError: no route")
