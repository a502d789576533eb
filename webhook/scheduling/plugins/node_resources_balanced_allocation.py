"""NodeResourcesBalancedAllocation: likes nodes whose resources the pod brings into balance.

Source: plugins/noderesources/balanced_allocation.go; 75 means that the balance stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.errors import ConfigurationError
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
        for fault in _faults(self._args):
            raise ConfigurationError(f"arguments of NodeResourcesBalancedAllocation: {fault}")
        self._amounts: list[tuple[str, int]] = []

    def pre_score(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod that requests none of the resources: it changes no balance."""
        requests = balancing_requests(pod)
        amounts = ((spec.name, scored_amount(requests, spec.name)) for spec in self._args.resources)
        self._amounts = [(name, amount) for name, amount in amounts if amount is not None]
        return SUCCESS if any(amount for _, amount in self._amounts) else SKIP

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        """50 to 100, by how the balance with the pod compares to that without it."""
        amounts = tuple(self._amounts)
        return nodes.remembered(
            ("NodeResourcesBalancedAllocation", amounts), lambda some: _change(amounts, some)
        )


def _change(amounts: Sequence[tuple[str, int]], nodes: Nodes) -> IntArray:
    offered = [nodes.allocatable(name) for name, _ in amounts]
    # Two rows each: as it is, and with the pod.
    used = [np.add.outer((0, amount), nodes.requested(name)) for name, amount in amounts]
    as_it_is, with_the_pod = _balance(used, offered)
    scores: IntArray = _HALF + (_HALF + with_the_pod - as_it_is) // 2
    return scores


def _faults(args: BalancedAllocationArgs) -> Iterator[str]:
    names = [spec.name for spec in args.resources]
    for index, spec in enumerate(args.resources):
        if spec.name in names[:index]:
            yield f"resources[{index}].name: {spec.name} is there more than once"
        if spec.weight != 1:
            yield f"resources[{index}].weight: expected 1, all resources count alike here, got {spec.weight}"


def _balance(used: list[IntArray], offered: list[IntArray]) -> IntArray:
    """100 less the standard deviation, in percent, of the shares in use of what the node offers."""
    shares = [amount / np.maximum(whole, 1) for amount, whole in zip(used, offered, strict=True)]
    for share in shares:
        np.minimum(share, 1.0, out=share)
    if len(shares) == 2:
        # The deviation of two is half their distance; with one resource offered there is none.
        deviation = np.abs(shares[0] - shares[1])
        deviation *= 0.5
        if not all(np.count_nonzero(whole) == len(whole) for whole in offered):
            deviation *= (offered[0] != 0) & (offered[1] != 0)
    else:
        deviation = _deviation(shares, [whole != 0 for whole in offered])
    balance = np.subtract(1.0, deviation, out=deviation)
    balance *= MAX_NODE_SCORE
    return balance.astype(np.int64)


def _deviation(shares: list[_Shares], offers: list[BoolArray]) -> _Shares:
    """Of any number of resources, added up in their order so that the rounding is Go's."""
    count = np.sum(offers, axis=0)
    divisor = np.maximum(count, 1)
    total = np.zeros_like(shares[0])
    for share, offer in zip(shares, offers, strict=True):
        total += np.where(offer, share, 0.0)
    mean = total / divisor
    squares = np.zeros_like(total)
    for share, offer in zip(shares, offers, strict=True):
        squares += np.where(offer, (share - mean) * (share - mean), 0.0)
    highest = np.max(
        [np.where(offer, share, 0.0) for share, offer in zip(shares, offers, strict=True)], axis=0
    )
    lowest = np.min(
        [np.where(offer, share, 1.0) for share, offer in zip(shares, offers, strict=True)], axis=0
    )
    return np.select([count > 2, count == 2], [np.sqrt(squares / divisor), (highest - lowest) / 2], 0.0)
