"""NodeResourcesFit: the pod's requests fit beside those that are there; by default the emptier node is liked more.

Source: plugins/noderesources/fit.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Handle, Rejections, Scores
from webhook.scheduling.plugins.scored_resources import (
    DEFAULT_RESOURCES,
    Resources,
    ResourceSpec,
    scored_amount,
)
from webhook.scheduling.plugins.scoring_strategies import (
    Demand,
    ShapePoint,
    Strategy,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
)
from webhook.scheduling.resources import CPU, EPHEMERAL_STORAGE, MEMORY, incoming_requests, scoring_requests
from webhook.scheduling.status import Code, Reason

__all__ = ["NodeResourcesFit"]

_TOO_MANY_PODS = Reason(Code.UNSCHEDULABLE, "Too many pods")
# Beside the number of pods: one bit per resource for "not now" and one for "never".
_MAX_RESOURCES = 31


class _Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class Ratio(_Args, frozen=True, kw_only=True):
    """What RequestedToCapacityRatio goes by."""

    shape: Annotated[tuple[ShapePoint, ...], msgspec.Meta(min_length=1)]


class ScoringStrategy(_Args, frozen=True, kw_only=True):
    """How nodes are liked."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: Resources = DEFAULT_RESOURCES
    requested_to_capacity_ratio: Ratio | None = None


class FitArgs(_Args, frozen=True, kw_only=True):
    """The arguments, as in kube-scheduler. What is ignored are extended resources or their prefixes."""

    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """Args as in kube-scheduler."""

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._args = parse_args("NodeResourcesFit", args, FitArgs)
        for fault in _faults(self._args):
            raise ConfigurationError(f"arguments of NodeResourcesFit: {fault}")
        self._scoring = self._args.scoring_strategy
        self._strategy = _strategy(self._scoring)
        self._wanted: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """By the bits of the last answer."""
        return (_TOO_MANY_PODS, *(reason for name in self._wanted for reason in _reasons(name)))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """A node appears or grows; a pod goes or shrinks."""
        return (
            ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
        )

    def filter(self, pod: Pod, nodes: Nodes) -> Rejections:
        """Bit 0: the node has all the pods it may have. Then two bits per resource that is short.

        The second says that it is more than the whole node has, so that preemption can't help.
        """
        wanted = tuple(
            (name, amount) for name, amount in incoming_requests(pod).items() if self._counts(name, amount)
        )
        if len(wanted) > _MAX_RESOURCES:
            raise ValueError(f"the pod requests {len(wanted)} resources, more than {_MAX_RESOURCES}")
        self._wanted = tuple(name for name, _ in wanted)
        return nodes.remembered(("NodeResourcesFit.filter", wanted), lambda some: _shortages(wanted, some))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """What the strategy makes of what would be in use with the pod."""
        requests = scoring_requests(pod)
        amounts = ((spec, scored_amount(requests, spec.name)) for spec in self._scoring.resources)
        wanted = tuple((spec, amount) for spec, amount in amounts if amount is not None)
        if not wanted:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.remembered(
            (self._scoring, wanted), lambda some: self._strategy([_demand(*each, some) for each in wanted])
        )

    def _counts(self, name: str, amount: int) -> bool:
        if amount <= 0:
            return False
        if name in {CPU, MEMORY, EPHEMERAL_STORAGE} or "/" not in name or "kubernetes.io/" in name:
            return True
        return (
            name not in self._args.ignored_resources
            and name.split("/")[0] not in self._args.ignored_resource_groups
        )


def _shortages(wanted: Sequence[tuple[str, int]], nodes: Nodes) -> npt.NDArray[np.uint64]:
    bits = (nodes.pod_counts >= nodes.pod_limits).astype(np.uint64)
    for index, (name, amount) in enumerate(wanted):
        allocatable = nodes.allocatable(name)
        short = amount > allocatable - nodes.requested(name)
        if short.any():
            never = amount > allocatable
            bits |= (short & ~never).astype(np.uint64) << np.uint64(2 * index + 1)
            bits |= (short & never).astype(np.uint64) << np.uint64(2 * index + 2)
    return bits


@lru_cache(maxsize=256)
def _reasons(name: str) -> tuple[Reason, Reason]:
    text = f"Insufficient {name}"
    return (Reason(Code.UNSCHEDULABLE, text), Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text))


def _demand(spec: ResourceSpec, amount: int, nodes: Nodes) -> Demand:
    # Containers without a request count here too, with a default.
    held = nodes.nonzero_requested if spec.name in {CPU, MEMORY} else nodes.requested
    return Demand(held(spec.name) + amount, nodes.allocatable(spec.name), spec.weight)


def _faults(args: FitArgs) -> Iterator[str]:
    for group in sorted(args.ignored_resource_groups):
        if "/" in group:
            yield f"ignoredResourceGroups: {group} is no group; leave out the / and what follows"
    strategy = args.scoring_strategy
    by_ratio = strategy.type == "RequestedToCapacityRatio"
    if strategy.requested_to_capacity_ratio is None:
        if by_ratio:
            yield "scoringStrategy.requestedToCapacityRatio: set it, the type is RequestedToCapacityRatio"
        return
    if not by_ratio:
        yield f"scoringStrategy.requestedToCapacityRatio: leave it out, the type is {strategy.type}"
    shape = strategy.requested_to_capacity_ratio.shape
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            yield (
                f"scoringStrategy.requestedToCapacityRatio.shape[{index}].utilization: "
                f"expected more than {before.utilization}, the one before, got {point.utilization}"
            )


def _strategy(scoring: ScoringStrategy) -> Strategy:
    if scoring.requested_to_capacity_ratio is not None:
        return requested_to_capacity_ratio(scoring.requested_to_capacity_ratio.shape)
    return most_allocated if scoring.type == "MostAllocated" else least_allocated
