"""NodeResourcesBalancedAllocation: likes nodes whose resources the pod brings into balance.

Source: plugins/noderesources/balanced_allocation.go; 75 means that the balance stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import BoolArray, IntArray
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Scores
from webhook.scheduling.plugins.scored_resources import DEFAULT_RESOURCES, Resources, scored_amount
from webhook.scheduling.resources import balancing_requests
from webhook.scheduling.status import SKIP, SUCCESS, Status

__all__ = ["NodeResourcesBalancedAllocation"]

_Shares: TypeAlias = npt.NDArray[np.float64]

_HALF = MAX_NODE_SCORE // 2


class BalancedAllocationArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments, as in kube-scheduler."""

    resources: Resources = DEFAULT_RESOURCES


class NodeResourcesBalancedAllocation:
    """Args: `resources`, as in kube-scheduler; cpu and memory if not given."""

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._args = parse_args("NodeResourcesBalancedAllocation", args, BalancedAllocationArgs)

    def pre_score(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod that requests none of the resources: it changes no balance."""
        requests = balancing_requests(pod)
        return SUCCESS if any(requests.get(spec.name) for spec in self._args.resources) else SKIP

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """50 to 100, by how the balance with the pod compares to that without it."""
        requests = balancing_requests(pod)
        allocatable, before, after = [], [], []
        for spec in self._args.resources:
            amount = scored_amount(requests, spec.name)
            if amount is not None:
                allocatable.append(nodes.allocatable(spec.name))
                before.append(nodes.requested(spec.name))
                after.append(before[-1] + amount)
        return _HALF + (_HALF + _balance(after, allocatable) - _balance(before, allocatable)) // 2


def _balance(requested: list[IntArray], allocatable: list[IntArray]) -> IntArray:
    """100 less the standard deviation, in percent, of the shares in use of what the node offers."""
    fractions = [_share(used, offered) for used, offered in zip(requested, allocatable, strict=True)]
    offers = [offered != 0 for offered in allocatable]
    if len(fractions) == 2:
        # The deviation of two is half their distance; with one resource offered there is none.
        deviation = np.where(offers[0] & offers[1], np.abs((fractions[0] - fractions[1]) / 2), 0.0)
    else:
        deviation = _deviation(fractions, offers)
    return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)


def _share(used: IntArray, offered: IntArray) -> _Shares:
    return np.minimum(used / np.maximum(offered, 1), 1.0)


def _deviation(fractions: list[_Shares], offers: list[BoolArray]) -> _Shares:
    """Of any number of resources, added up in their order so that the rounding is Go's."""
    count = np.sum(offers, axis=0)
    divisor = np.maximum(count, 1)
    total = np.zeros(len(count))
    for share, offer in zip(fractions, offers, strict=True):
        total += np.where(offer, share, 0.0)
    mean = total / divisor
    squares = np.zeros(len(count))
    for share, offer in zip(fractions, offers, strict=True):
        squares += np.where(offer, (share - mean) * (share - mean), 0.0)
    highest = np.max(
        [np.where(offer, share, 0.0) for share, offer in zip(fractions, offers, strict=True)], axis=0
    )
    lowest = np.min(
        [np.where(offer, share, 1.0) for share, offer in zip(fractions, offers, strict=True)], axis=0
    )
    return np.select([count > 2, count == 2], [np.sqrt(squares / divisor), (highest - lowest) / 2], 0.0)
