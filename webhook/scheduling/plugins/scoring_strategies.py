"""How NodeResourcesFit likes a node, from what would be requested of it and what it offers.

Each strategy answers with a score for each node.
A resource that a node doesn't offer leaves its score to the others. Source: plugins/noderesources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
import numpy as np

from webhook.scheduling.columns import IntArray
from webhook.scheduling.plugin import MAX_NODE_SCORE

__all__ = [
    "Demand",
    "ShapePoint",
    "Strategy",
    "least_allocated",
    "most_allocated",
    "requested_to_capacity_ratio",
]

# The scale on which the scores of a shape are written.
_SHAPE_SCORES = 10
_FULL = 100


class Demand(NamedTuple):
    """What would be requested of some resources, with the pod, and what the nodes offer: a line each.

    `weights` has a number for each line.
    """

    requested: IntArray
    allocatable: IntArray
    weights: IntArray


Strategy: TypeAlias = Callable[[Demand], IntArray]


class ShapePoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The score at one utilization, in percent; straight lines lead from point to point."""

    utilization: Annotated[int, msgspec.Meta(ge=0, le=_FULL)]
    score: Annotated[int, msgspec.Meta(ge=0, le=_SHAPE_SCORES)]


def least_allocated(demand: Demand) -> IntArray:
    """Return the weighted mean of the percentages that would stay free."""
    return _mean(demand, np.maximum(demand.allocatable - demand.requested, 0))


def most_allocated(demand: Demand) -> IntArray:
    """Return the weighted mean of the percentages that would be in use."""
    return _mean(demand, np.minimum(demand.requested, demand.allocatable))


def requested_to_capacity_ratio(shape: Sequence[ShapePoint]) -> Strategy:
    """Return the weighted mean of what the shape says of each utilization; a resource that scores 0 doesn't count."""
    table = np.array([_value(shape, percent) for percent in range(_FULL + 1)], dtype=np.int64)

    def strategy(demand: Demand) -> IntArray:
        in_use = np.minimum(demand.requested, demand.allocatable)
        scores = table[_percent(in_use, demand.allocatable)] * (demand.allocatable != 0)
        total = demand.weights @ scores
        divisor = np.maximum(demand.weights @ (scores > 0), 1)
        # Halves are rounded up.
        mean: IntArray = (2 * total + divisor) // (2 * divisor)
        return mean

    return strategy


def _mean(demand: Demand, part: IntArray) -> IntArray:
    total = demand.weights @ _percent(part, demand.allocatable)
    weights = demand.weights @ (demand.allocatable != 0)
    return np.asarray(total // np.maximum(weights, 1))


def _percent(part: IntArray, whole: IntArray) -> IntArray:
    """Return whole percentages, rounded down; 0 of what isn't offered, where no part is either."""
    percent: IntArray = part * _FULL
    percent //= np.maximum(whole, 1)
    return percent


def _value(shape: Sequence[ShapePoint], percent: int) -> int:
    """Return the shape's value at a utilization, on the scale of node scores (helper.BuildBrokenLinearFunction)."""
    points = [(point.utilization, point.score * (MAX_NODE_SCORE // _SHAPE_SCORES)) for point in shape]
    if percent <= points[0][0]:
        return points[0][1]
    for (start, low), (end, high) in pairwise(points):
        if percent <= end:
            # Cut towards zero, as Go divides: up from below where the line falls.
            return low + int((high - low) * (percent - start) / (end - start))
    return points[-1][1]
