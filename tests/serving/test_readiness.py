from __future__ import annotations

import logging

import pytest

from tests.clocks import SetClock
from webhook.serving.readiness import Readiness


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.fixture(autouse=True)
def _from_info_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "custom_scheduler.serving")


def test_the_log_tells_when_readiness_is_lost_with_the_reasons_and_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lost = ["no policy", "no certificate"]
    answers = iter([[], lost, lost, [], []])
    readiness = Readiness(lambda: next(answers), component="webhook", clock=SetClock(0.0))

    for _ in range(5):
        readiness.reasons()

    assert lines(caplog) == [("WARNING", "not ready: no policy; no certificate"), ("INFO", "ready")]


def test_reasons_that_change_at_each_probe_are_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = SetClock(0.0)
    readiness = Readiness(
        lambda: [f"deciding for {clock.now:g} s"] if clock.now else [], component="binder", clock=clock
    )

    for clock.now in (0.0, 100.0, 102.0, 159.0, 160.0):
        readiness.reasons()

    assert lines(caplog) == [
        ("WARNING", "not ready: deciding for 100 s"),
        ("WARNING", "not ready: deciding for 160 s"),
    ]


def test_what_is_ready_from_the_first_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    Readiness(list, component="webhook").reasons()

    assert lines(caplog) == []


@pytest.mark.parametrize(
    "told",
    [
        [["starting"], ["caBundle not looked at yet"]],
        [[], ["draining before the stop"], ["stopping"]],
    ],
    ids=["start", "stop"],
)
def test_what_belongs_to_a_start_or_a_stop_is_no_warning(
    caplog: pytest.LogCaptureFixture, told: list[list[str]]
) -> None:
    clock = SetClock(0.0)
    answers = iter(told)
    readiness = Readiness(lambda: next(answers), component="webhook", clock=clock)

    for clock.now in [number * 100.0 for number in range(len(told))]:
        readiness.reasons()

    assert {level for level, _ in lines(caplog)} == {"INFO"}
