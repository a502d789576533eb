"""What the oracle has to hold for its answers to mean something."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.conformance.extender import Extender
from tests.conformance.generator import scenario
from tests.conformance.model import Json
from tests.conformance.notes import Notes, TriedAgain
from tests.conformance.oracle import Oracle

_SLOW = 1.0  # seconds: longer than it takes to empty a cluster


@pytest.mark.e2e
def test_a_scenario_begins_when_all_bindings_of_the_last_one_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, bind = Extender.hold, Extender.bind
    unanswered: set[str] = set()
    left_over: list[set[str]] = []

    def slow_bind(extender: Extender, args: Json) -> Json:
        unanswered.add(args["PodName"])
        answer = bind(extender, args)
        time.sleep(_SLOW)
        unanswered.remove(args["PodName"])
        return answer

    def watched_hold(extender: Extender) -> None:
        left_over.append(set(unanswered))
        hold(extender)

    monkeypatch.setattr(Extender, "bind", slow_bind)
    monkeypatch.setattr(Extender, "hold", watched_hold)

    with Oracle(tmp_path) as oracle:
        for seed in (3, 4):
            assert any(attempt.answer.choice for attempt in oracle.record(scenario(seed)).attempts)

    assert left_over == [set(), set()]


@pytest.mark.e2e
def test_a_scenario_whose_pods_were_tried_twice_is_gone_through_again_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_once = Notes.expect_once
    to_fail = 2

    def fail_at_first(notes: Notes, pods: Collection[str], *, besides: str) -> None:
        nonlocal to_fail
        expect_once(notes, pods, besides=besides)
        if to_fail:
            to_fail -= 1
            raise TriedAgain

    monkeypatch.setattr(Notes, "expect_once", fail_at_first)

    with Oracle(tmp_path) as oracle:
        assert oracle.record(scenario(3)).attempts
        assert oracle.asked_again == 2

        to_fail = 3
        with pytest.raises(TriedAgain):
            oracle.record(scenario(3))
