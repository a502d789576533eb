"""Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) as exact integers.

Sums are taken before rounding, as Go does it, so the unit is the nano: the finest that the API keeps.
Source: k8s.io/apimachinery/pkg/api/resource/quantity.go.
"""

from __future__ import annotations

import re
from functools import lru_cache

from webhook.scheduling.objects import Quantity

__all__ = ["InvalidQuantity", "ceil_milli", "ceil_units", "parse_nanos"]

NANOS = 10**9
_NANOS_PER_MILLI = 10**6
# The largest amount kept: 100 times it still fits in an int64, which scores multiply by.
_MAX_AMOUNT = 2**56
_MAX_NANOS = _MAX_AMOUNT * NANOS
# Far beyond what can matter after rounding and capping, and small enough to compute with.
_MAX_EXPONENT = 40

_SHAPE = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class InvalidQuantity(ValueError):
    """The text is no Kubernetes quantity."""


@lru_cache(maxsize=4096)
def parse_nanos(quantity: Quantity) -> int:
    """Return the quantity in billionths, rounded away from zero and capped; raises InvalidQuantity."""
    text = str(quantity)
    match = _SHAPE.fullmatch(text)
    if match is None or not (match["whole"] or match["fraction"]):
        raise InvalidQuantity(
            f"{text!r} is not a quantity; expected a number and a suffix, such as 500m or 1Gi"
        )
    fraction = match["fraction"] or ""
    numerator = int(match["whole"] + fraction) * NANOS
    exponent = -len(fraction)
    suffix = match["suffix"] or ""
    if suffix in _BINARY:
        numerator <<= _BINARY[suffix]
    else:
        exponent += _DECIMAL[suffix] + _clamped_exponent(match["exponent"])
    power: int = 10 ** abs(exponent)
    nanos = numerator * power if exponent >= 0 else -(-numerator // power)
    nanos = min(nanos, _MAX_NANOS)
    return -nanos if match["sign"] == "-" else nanos


def ceil_milli(nanos: int) -> int:
    """Return whole thousandths, rounded up, as Go's MilliValue (the unit of CPU)."""
    return min(-(-nanos // _NANOS_PER_MILLI), _MAX_AMOUNT)


def ceil_units(nanos: int) -> int:
    """Return whole units, rounded up, as Go's Value (bytes, devices, pods)."""
    return min(-(-nanos // NANOS), _MAX_AMOUNT)


def _clamped_exponent(text: str | None) -> int:
    if text is None:
        return 0
    # Ten digits are enough to be out of range; int() of thousands of them is slow.
    return max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(text[:10])))
