"""NodeResourcesFit: the pod's requests fit beside those that are there; the emptier node is liked more.

Source: plugins/noderesources/fit.go and least_allocated.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np

from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import IntArray
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Rejections, Scores
from webhook.scheduling.plugins.scored_resources import DEFAULT_RESOURCES, Resources, scored_amount
from webhook.scheduling.resources import CPU, EPHEMERAL_STORAGE, MEMORY, incoming_requests, scoring_requests
from webhook.scheduling.status import Code, Reason

__all__ = ["NodeResourcesFit"]

_TOO_MANY_PODS = Reason(Code.UNSCHEDULABLE, "Too many pods")
# Beside the number of pods: one bit per resource for "not now" and one for "never".
_MAX_RESOURCES = 31


class _Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class ScoringStrategy(_Args, frozen=True, kw_only=True):
    """How nodes are liked; the emptier the better is the only strategy."""

    type: Literal["LeastAllocated"] = "LeastAllocated"
    resources: Resources = DEFAULT_RESOURCES


class FitArgs(_Args, frozen=True, kw_only=True):
    """The arguments, as in kube-scheduler. What is ignored are extended resources or their prefixes."""

    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """Args as in kube-scheduler; of the scoring strategies, LeastAllocated."""

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._args = parse_args("NodeResourcesFit", args, FitArgs)
        self.reasons: tuple[Reason, ...] = (_TOO_MANY_PODS,)

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
        wanted = [
            (name, amount) for name, amount in incoming_requests(pod).items() if self._counts(name, amount)
        ]
        if len(wanted) > _MAX_RESOURCES:
            raise ValueError(f"the pod requests {len(wanted)} resources, more than {_MAX_RESOURCES}")
        reasons = [_TOO_MANY_PODS]
        bits = (nodes.pod_counts >= nodes.pod_limits).astype(np.uint64)
        for name, amount in wanted:
            allocatable = nodes.allocatable(name)
            short = amount > allocatable - nodes.requested(name)
            if short.any():
                never = amount > allocatable
                bits |= (short & ~never).astype(np.uint64) << np.uint64(len(reasons))
                bits |= (short & never).astype(np.uint64) << np.uint64(len(reasons) + 1)
                text = f"Insufficient {name}"
                reasons += [
                    Reason(Code.UNSCHEDULABLE, text),
                    Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text),
                ]
        self.reasons = tuple(reasons)
        return bits

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """The weighted mean over the resources of the percentage that would stay free."""
        requests = scoring_requests(pod)
        total = np.zeros(len(nodes), dtype=np.int64)
        weights: IntArray | int = 0
        for spec in self._args.scoring_strategy.resources:
            amount = scored_amount(requests, spec.name)
            if amount is None:
                continue
            allocatable = nodes.allocatable(spec.name)
            held = (
                nodes.nonzero_requested(spec.name)
                if spec.name in {CPU, MEMORY}
                else nodes.requested(spec.name)
            )
            free = np.maximum(allocatable - (held + amount), 0)
            if np.count_nonzero(allocatable) == len(nodes):
                total += free * MAX_NODE_SCORE // allocatable * spec.weight
                weights = weights + spec.weight
            else:
                # Nothing is free where nothing is offered; such a node is scored by the other resources.
                total += free * MAX_NODE_SCORE // np.maximum(allocatable, 1) * spec.weight
                weights = weights + spec.weight * (allocatable != 0)
        return total // np.maximum(weights, 1)

    def _counts(self, name: str, amount: int) -> bool:
        if amount <= 0:
            return False
        if name in {CPU, MEMORY, EPHEMERAL_STORAGE} or "/" not in name or "kubernetes.io/" in name:
            return True
        return (
            name not in self._args.ignored_resources
            and name.split("/")[0] not in self._args.ignored_resource_groups
        )
