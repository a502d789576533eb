"""NodeResourcesFit: the pod's requests fit beside those that are there; by default the emptier node is liked more.

Source: plugins/noderesources/fit.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import IntArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.lone_node import lone_node
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.per_object import per_object
from webhook.scheduling.plugin import Handle, Local, Rejections, Scores
from webhook.scheduling.plugins.hints import queue_if
from webhook.scheduling.plugins.scored_resources import (
    DEFAULT_RESOURCES,
    Resources,
    Wanted,
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
from webhook.scheduling.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    incoming_requests,
    placed_requests,
    scoring_requests,
)
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

    local = Local.NODE_AND_PODS

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._args = parse_args("NodeResourcesFit", args, FitArgs)
        for fault in _faults(self._args):
            raise ConfigurationError(f"arguments of NodeResourcesFit: {fault}")
        self._scoring = self._args.scoring_strategy
        self._strategy = _strategy(self._scoring)
        self._wanted = per_object(self._work_out_wanted)
        self._scored = per_object(self._work_out_scored)
        self._names: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What the bits of the last answer stand for."""
        return (_TOO_MANY_PODS, *(reason for name in self._names for reason in _reasons(name)))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a pod to go, or to hold less of what is wanted; for a node that has it all, newly or more of it; or for less wants."""
        return (
            ClusterEventWithHint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)),
            ClusterEventWithHint(
                ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN), self._after_scale_down
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
                self._after_node_change,
            ),
            ClusterEventWithHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)),
        )

    def filter(self, pod: Pod, nodes: Nodes) -> Rejections:
        """Return bit 0 where the node has all the pods it may have, and two bits for each resource that is short.

        The second says that it is more than the whole node has, so that preemption can't help.
        """
        wanted = self._wanted(pod)
        if len(wanted.names) > _MAX_RESOURCES:
            raise ValueError(f"the pod requests {len(wanted.names)} resources, more than {_MAX_RESOURCES}")
        self._names = wanted.names
        return _shortages(wanted, nodes)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return what the strategy makes of what would be in use with the pod."""
        wanted, weights = self._scored(pod)
        if not wanted.names:
            return np.zeros(len(nodes), dtype=np.int64)
        # Containers without a request count here too, with a default.
        requested = nodes.nonzero_requested_of(wanted.names) + wanted.amounts
        return self._strategy(Demand(requested, nodes.allocatable_of(wanted.names), weights))

    def _work_out_wanted(self, pod: Pod) -> Wanted:
        return Wanted.of(each for each in incoming_requests(pod).items() if self._counts(*each))

    def _work_out_scored(self, pod: Pod) -> tuple[Wanted, IntArray]:
        requests = scoring_requests(pod)
        amounts = ((spec, scored_amount(requests, spec.name)) for spec in self._scoring.resources)
        scored = [(spec, amount) for spec, amount in amounts if amount is not None]
        weights = np.array([spec.weight for spec, _ in scored], dtype=np.int64)
        return Wanted.of((spec.name, amount) for spec, amount in scored), weights

    def _after_scale_down(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        before, after = placed_requests(old).amounts, placed_requests(new).amounts
        wanted = self._wanted(pod).names
        return queue_if(any(before.get(name, 0) > after.get(name, 0) for name in wanted))

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        wanted, after = self._wanted(pod), lone_node(new)
        if _shortages(wanted, after).any():
            return QueueingHint.QUEUE_SKIP
        if old is None:
            return QueueingHint.QUEUE
        before = lone_node(old)
        return queue_if(
            (after.pod_limits > before.pod_limits).any()
            or (after.allocatable_of(wanted.names) > before.allocatable_of(wanted.names)).any()
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


def _shortages(wanted: Wanted, nodes: Nodes) -> npt.NDArray[np.uint64]:
    bits = (nodes.pod_counts >= nodes.pod_limits).astype(np.uint64)
    amount, allocatable = wanted.amounts, nodes.allocatable_of(wanted.names)
    short = amount > allocatable - nodes.requested_of(wanted.names)
    if np.count_nonzero(short):
        never = amount > allocatable
        for index in range(len(wanted.names)):
            bits |= (short[index] & ~never[index]).astype(np.uint64) << np.uint64(2 * index + 1)
            bits |= (short[index] & never[index]).astype(np.uint64) << np.uint64(2 * index + 2)
    return bits


@lru_cache(maxsize=256)
def _reasons(name: str) -> tuple[Reason, Reason]:
    text = f"Insufficient {name}"
    return (Reason(Code.UNSCHEDULABLE, text), Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text))


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
