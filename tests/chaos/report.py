"""The results of all scenarios as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from tests.chaos.protocol import Result

__all__ = ["table"]

_HEADINGS = ("scenario", "calls", "failed", "open", "closed", "p50 ms", "p99 ms", "max ms", "late ms", "s")


def table(results: Sequence[Result]) -> str:
    """Return a line for each result.

    open and closed: what the API server counted of calls that failed. late: by how much the load itself was held up.
    """
    rows: list[tuple[str, ...]] = [_HEADINGS, *map(_row, results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(result: Result) -> tuple[str, ...]:
    times = (result.p50_ms, result.p99_ms, result.longest_ms, result.latest_ms)
    return (
        result.scenario.replace("_", " "),
        *(str(each) for each in (result.calls, result.failed, result.fail_open, result.failed_closed)),
        *(f"{each:.1f}" for each in times),
        f"{result.seconds:.0f}",
    )
