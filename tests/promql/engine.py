"""PromQL as Prometheus itself parses and evaluates it, by a small program built from its Go modules."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from devcluster.build import say_on_stderr
from devcluster.goprogram import ensure_program

__all__ = ["Answer", "Grouping", "Selector", "Series", "evaluate", "names_in"]


class Series(msgspec.Struct, frozen=True):
    """A series: its labels, `__name__` among them, and a value per step, None where there is none."""

    labels: dict[str, str]
    values: list[float | None]


class Selector(msgspec.Struct, frozen=True):
    """What an expression reads: a metric, and its matchers as (label, operator, value)."""

    metric: str
    matchers: list[tuple[str, str, str]]


class Grouping(msgspec.Struct, frozen=True):
    """The labels by which series of these metrics are summed up or matched."""

    labels: list[str]
    metrics: list[str]


class Answer(msgspec.Struct, frozen=True):
    """What is in an expression, and what comes of it; or why it is none."""

    error: str = ""
    selectors: list[Selector] = []
    groupings: list[Grouping] = []
    series: list[Series] = []


def names_in(expressions: Sequence[str]) -> list[Answer]:
    """Return what each expression names."""
    return _ask({"expressions": expressions})


def evaluate(
    expressions: Sequence[str], series: Iterable[Series], *, step: float, epoch: float = 0.0
) -> list[Answer]:
    """Return the values of each expression at each of the series' steps; the first is at `epoch`, in seconds."""
    return _ask({"expressions": expressions, "series": list(series), "step": step, "epoch": epoch})


def _ask(request: Mapping[str, Any]) -> list[Answer]:
    answered = subprocess.run(
        [_program()], input=msgspec.json.encode(request), stdout=subprocess.PIPE, check=True, timeout=60
    )
    return msgspec.json.decode(answered.stdout, type=list[Answer])


@cache
def _program() -> Path:
    return ensure_program(Path(__file__).parent, packages=300, say=say_on_stderr)
