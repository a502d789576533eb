"""NodeResourcesBalancedAllocation: likes nodes whose resources the pod brings into balance.

Source: plugins/noderesources/balanced_allocation.go; 75 means that the balance stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import BoolArray, IntArray
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.per_object import per_object
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Local, Scores
from webhook.scheduling.plugins.scored_resources import DEFAULT_RESOURCES, Resources, Wanted, scored_amount
from webhook.scheduling.resources import balancing_requests
from webhook.scheduling.status import SKIP, SUCCESS, Status

__all__ = ["NodeResourcesBalancedAllocation"]

_Shares: TypeAlias = npt.NDArray[np.float64]

_HALF = MAX_NODE_SCORE // 2
_WITHOUT_AND_WITH = np.array([0, 1], dtype=np.int64).reshape(2, 1, 1)


class BalancedAllocationArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments, as in kube-scheduler."""

    resources: Resources = DEFAULT_RESOURCES


class NodeResourcesBalancedAllocation:
    """Args: `resources`, as in kube-scheduler; cpu and memory if not given."""

    local = Local.NODE_AND_PODS

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._args = parse_args("NodeResourcesBalancedAllocation", args, BalancedAllocationArgs)
        for fault in _faults(self._args):
            raise ConfigurationError(f"arguments of NodeResourcesBalancedAllocation: {fault}")
        self._wanted = per_object(self._work_out_wanted)

    def pre_score(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod that requests none of the resources: it changes no balance."""
        return SUCCESS if self._wanted(pod).amounts.any() else SKIP

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return 50 to 100, by how the balance with the pod compares to that without it."""
        return _change(self._wanted(pod), nodes)

    def _work_out_wanted(self, pod: Pod) -> Wanted:
        requests = balancing_requests(pod)
        amounts = ((spec.name, scored_amount(requests, spec.name)) for spec in self._args.resources)
        return Wanted.of((name, amount) for name, amount in amounts if amount is not None)


def _change(wanted: Wanted, nodes: Nodes) -> IntArray:
    # As it is, and with the pod.
    used = nodes.requested_of(wanted.names) + _WITHOUT_AND_WITH * wanted.amounts
    as_it_is, with_the_pod = _balance(used, nodes.allocatable_of(wanted.names))
    scores: IntArray = _HALF + (_HALF + with_the_pod - as_it_is) // 2
    return scores


def _faults(args: BalancedAllocationArgs) -> Iterator[str]:
    names = [spec.name for spec in args.resources]
    for index, spec in enumerate(args.resources):
        if spec.name in names[:index]:
            yield f"resources[{index}].name: {spec.name} is there more than once"
        if spec.weight != 1:
            yield f"resources[{index}].weight: expected 1, all resources count alike here, got {spec.weight}"


def _balance(used: IntArray, offered: IntArray) -> IntArray:
    """Return 100 less the standard deviation, in percent, of the shares in use of what the node offers.

    `used` has a layer for each case, of a line for each resource; `offered` is such a layer. The answer has a line per case.
    """
    shares = used / np.maximum(offered, 1)
    np.minimum(shares, 1.0, out=shares)
    if len(offered) == 2:
        # The deviation of two is half their distance; with one resource offered there is none.
        deviation = np.abs(shares[:, 0] - shares[:, 1])
        deviation *= 0.5
        if np.count_nonzero(offered) < offered.size:
            deviation *= (offered != 0).all(axis=0)
    else:
        deviation = _deviation(shares, offered != 0)
    balance = np.subtract(1.0, deviation, out=deviation)
    balance *= MAX_NODE_SCORE
    return balance.astype(np.int64)


def _deviation(shares: _Shares, is_offered: BoolArray) -> _Shares:
    """Return that of any number of resources, added up in their order so that the rounding is Go's."""
    count = is_offered.sum(axis=0)
    divisor = np.maximum(count, 1)
    lines = range(len(is_offered))
    total = np.zeros_like(shares[:, 0])
    for line in lines:
        total += np.where(is_offered[line], shares[:, line], 0.0)
    mean = total / divisor
    squares = np.zeros_like(total)
    for line in lines:
        squares += np.where(is_offered[line], (shares[:, line] - mean) * (shares[:, line] - mean), 0.0)
    highest = np.where(is_offered, shares, 0.0).max(axis=1)
    lowest = np.where(is_offered, shares, 1.0).min(axis=1)
    return np.where(count > 2, np.sqrt(squares / divisor), np.where(count == 2, (highest - lowest) / 2, 0.0))
