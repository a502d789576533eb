from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from click.testing import CliRunner

from bench import admission
from bench.admission import Case, cases, main
from webhook.admission.review import Review
from webhook.admission.verdict import Verdict

CASES = {case.name: case for case in cases()}


def response(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(case.run())["response"]
    return found


@pytest.mark.parametrize("name", CASES)
def test_each_case_comes_to_what_its_name_says(name: str) -> None:
    found = response(CASES[name])

    expected = {"allow": (True, False), "deny": (False, False), "mutate": (True, True)}
    assert (found["allowed"], "patch" in found) == expected.get(name.partition("/")[2], (False, False))


@pytest.mark.parametrize(("size", "kilobytes"), [("3KB", 3), ("9KB", 9), ("90KB", 90)])
def test_the_bodies_have_the_sizes_of_their_names(size: str, kilobytes: int) -> None:
    bodies = [len(case.body) for name, case in CASES.items() if name.startswith(f"{size}/")]

    assert len(bodies) == 3
    assert all(kilobytes * 1024 <= body <= kilobytes * 1024 * 1.05 for body in bodies)


def test_the_last_lines_are_json_and_one_for_each_figure() -> None:
    answer = CliRunner().invoke(main, ["--runs", "1", "--decisions", "3"])

    assert answer.exit_code == 0, answer.output
    figures = [json.loads(line) for line in answer.output.splitlines()[-3 * len(CASES) :]]
    assert {(figure["case"], figure["unit"]) for figure in figures} == {
        (name, unit) for name in CASES for unit in ("p50 ms", "p99 ms", "p99 ms alone")
    }
    assert all(
        set(figure) == {"bench", "case", "unit", "ours", "peer", "ratio", "runs"} and figure["ours"] > 0
        for figure in figures
    )


def test_what_others_took_is_left_out_of_the_decisions_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count(1)
    case = CASES["3KB/allow"]
    taken = 0

    def decide(review: Review) -> Verdict:
        nonlocal taken
        if next(calls) % 10 == 0:
            taken += 1
            time.sleep(0.02)
        return case.decide(review)

    monkeypatch.setattr(admission, "_interruptions", lambda: taken)

    timing = admission.time_decisions(Case(name=case.name, body=case.body, decide=decide), 200)

    assert timing.p99 >= 20 > timing.p99_alone
