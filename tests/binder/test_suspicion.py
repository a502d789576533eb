from __future__ import annotations

from webhook.binder.suspicion import FAILURES_IN_A_ROW, Suspicion
from webhook.scheduling.outcome import Placement, PluginFailure
from webhook.scheduling.testing import make_pod

Told = list[tuple[str, str]]


def failure(plugin: str, profile: str = "custom-scheduler") -> PluginFailure:
    return PluginFailure(make_pod(spec={"schedulerName": profile}), plugin, f"plugin {plugin} failed")


def success(profile: str = "custom-scheduler") -> Placement:
    return Placement(make_pod(spec={"schedulerName": profile}), "node", "uid", 1, 1)


def suspicion() -> tuple[Suspicion, Told]:
    told: Told = []
    return Suspicion(lambda plugin, why: told.append((plugin, why))), told


def test_a_plugin_that_fails_again_and_again_is_told_of_once() -> None:
    judge, told = suspicion()

    for _ in range(FAILURES_IN_A_ROW + 3):
        judge.judge(failure("Bad"))

    assert told == [("Bad", "10 decisions in a row have failed: plugin Bad failed")]


def test_one_decision_that_succeeds_begins_the_count_anew() -> None:
    judge, told = suspicion()

    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            judge.judge(failure("Bad"))
        judge.judge(success())

    assert told == []


def test_what_succeeds_in_another_profile_excuses_nothing() -> None:
    judge, told = suspicion()

    for _ in range(FAILURES_IN_A_ROW):
        judge.judge(failure("Bad"))
        judge.judge(success("other"))

    assert [plugin for plugin, _ in told] == ["Bad"]
