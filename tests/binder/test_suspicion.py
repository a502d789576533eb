from __future__ import annotations

from webhook.binder.suspicion import FAILURES_IN_A_ROW, Suspicion
from webhook.scheduling.status import Code, Status

Told = list[tuple[str, str]]
PROFILE = "custom-scheduler"
BAD = [Status(Code.ERROR, ("plugin Bad failed",), "Bad")]


def suspicion() -> tuple[Suspicion, Told]:
    told: Told = []
    return Suspicion(lambda plugin, why: told.append((plugin, why))), told


def test_a_plugin_that_fails_again_and_again_is_told_of_once() -> None:
    judge, told = suspicion()

    for _ in range(FAILURES_IN_A_ROW + 3):
        judge.judge(PROFILE, "schedule", BAD)

    assert told == [("Bad", "10 decisions in a row have failed: plugin Bad failed")]


def test_one_decision_that_succeeds_begins_the_count_anew() -> None:
    judge, told = suspicion()

    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            judge.judge(PROFILE, "schedule", BAD)
        judge.judge(PROFILE, "schedule", [])

    assert told == []


def test_what_succeeds_in_another_profile_excuses_nothing() -> None:
    judge, told = suspicion()

    for _ in range(FAILURES_IN_A_ROW):
        judge.judge(PROFILE, "schedule", BAD)
        judge.judge("other", "schedule", [])

    assert [plugin for plugin, _ in told] == ["Bad"]


def test_what_succeeds_at_another_step_excuses_nothing() -> None:
    judge, told = suspicion()

    for _ in range(FAILURES_IN_A_ROW):
        judge.judge(PROFILE, "schedule", [])
        judge.judge(PROFILE, "bind", BAD)

    assert [plugin for plugin, _ in told] == ["Bad"]
