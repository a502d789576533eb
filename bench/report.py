"""The two forms of every benchmark's answer: a table, then one JSON object for each figure."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console
from rich.table import Table

__all__ = ["Figure", "Judged", "median_ratio", "print_figures", "print_table", "verdicts"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. `ratio` says how much better we are than the peer: above 1 is better; None without a peer."""

    bench: str
    case: str
    unit: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    runs: int


class Judged(Figure, frozen=True, kw_only=True):
    """A cost with a budget, and whether it is within. A busy machine is no failure, so no exit code depends on it."""

    budget: float
    within: bool

    @classmethod
    def of(cls, figure: Figure, budget: float) -> Judged:
        """Return the figure with the verdict on it."""
        return cls(**msgspec.structs.asdict(figure), budget=budget, within=figure.ours <= budget)


def median_ratio(ours: Sequence[float], peer: Sequence[float], *, higher_is_better: bool) -> float:
    """Return how much better we are than the peer: the median of what each pair of interleaved runs says.

    `ours/peer` where more is better, and `peer/ours` where it is a cost.
    """
    pairs = zip(ours, peer, strict=True)
    return statistics.median(mine / other if higher_is_better else other / mine for mine, other in pairs)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print the table for people; the first column holds names, the others numbers."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    Console(file=sys.stdout, width=110, highlight=False).print(table)


def verdicts(figures: Iterable[Figure]) -> Iterator[str]:
    """Yield a line about each figure with a budget, and one about the machine if others kept it busy."""
    for figure in figures:
        if isinstance(figure, Judged):
            unit = figure.unit.split()[-1]
            within = "within" if figure.within else "NOT within"
            yield f"{figure.case}: {_number(figure.ours)} {unit}, {within} the budget of {_number(figure.budget)} {unit}."
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        yield f"The machine was busy (load {load:.1f} on {cores} cores); shared caches make the figures worse."


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_figures(figures: Iterable[Figure]) -> None:
    """Print the figures, a line of JSON each; nothing may be printed after them."""
    for figure in figures:
        sys.stdout.write(f"{msgspec.json.encode(figure).decode()}\n")
