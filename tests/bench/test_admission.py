from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from bench.admission import Case, cases, main

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
    figures = [json.loads(line) for line in answer.output.splitlines()[-2 * len(CASES) :]]
    assert {(figure["case"], figure["unit"]) for figure in figures} == {
        (name, unit) for name in CASES for unit in ("p50 ms", "p99 ms")
    }
    assert all(
        set(figure) == {"bench", "case", "unit", "ours", "peer", "ratio", "runs"} and figure["ours"] > 0
        for figure in figures
    )
