"""Series that a test makes up: an hour and a half of them, a value a minute."""

from __future__ import annotations

from collections.abc import Sequence

from tests.promql.engine import Series

__all__ = ["EPOCH", "MINUTES", "NOW", "born", "flat", "growing", "latencies", "series"]

MINUTES = 90
EPOCH = 1_800_000_000.0  # seconds since 1970; a value is a minute
NOW = EPOCH + (MINUTES - 1) * 60


def series(
    metric: str, before: float | None, last: float | Sequence[float | None], /, **labels: str
) -> Series:
    """A series that had the value `before` until its last values: a minute each, or one for a whole hour."""
    values: list[float | None] = [last] * 60 if isinstance(last, int | float) else list(last)
    return Series({"__name__": metric, **labels}, [before] * (MINUTES - len(values)) + values)


def flat(metric: str, value: float, **labels: str) -> Series:
    return series(metric, value, value, **labels)


def growing(metric: str, minutes: int, **labels: str) -> Series:
    """A counter that was at 7, and has grown by one in each of the last minutes."""
    return series(metric, 7, [7.0 + minute for minute in range(1, minutes + 1)], **labels)


def born(metric: str, **labels: str) -> Series:
    """A counter that came with its first event, two minutes ago."""
    return series(metric, None, [1.0, 1.0, 1.0], **labels)


def latencies(metric: str, slow: int, minutes: int, **labels: str) -> list[Series]:
    """A hundred calls a minute, of which so many took two seconds in the last minutes."""
    found = []
    for le, late in (("0.5", False), ("1", False), ("2.5", True), ("+Inf", True)):
        total, values = 0.0, []
        for minute in range(MINUTES):
            is_slow = minute >= MINUTES - minutes
            total += 100.0 if late or not is_slow else 100.0 - slow
            values.append(total)
        found.append(Series({"__name__": metric, **labels, "le": le}, list(values)))
    return found
