"""PodTopologySpread: pods that belong together spread over topology domains.

Source: pkg/scheduler/framework/plugins/podtopologyspread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import BoolArray, IntArray
from webhook.scheduling.domains import Domains
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Scores
from webhook.scheduling.plugins.spread_constraints import Constraint, SpreadConstraints
from webhook.scheduling.plugins.spread_hints import SpreadHints
from webhook.scheduling.pod_groups import PodGroup, PodSelector
from webhook.scheduling.selectors import match_required
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status
from webhook.scheduling.tolerations import excluded_by

__all__ = ["PodTopologySpread"]

_HOSTNAME = "kubernetes.io/hostname"
_REASON = "node(s) didn't match pod topology spread constraints"
_SKEWED, _UNLABELLED = 1, 2


class PodTopologySpread:
    """Hard constraints exclude nodes, soft ones rank them. Args as in kube-scheduler."""

    reasons = (
        Reason(Code.UNSCHEDULABLE, _REASON),
        Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"{_REASON} (missing required label)"),
    )

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._constraints = SpreadConstraints(args, handle.cache.workloads)
        # Over the whole cluster, from `pre_filter` to `filter`.
        self._rejections: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        # From `pre_score` to `score`, and from there to `normalize_score`.
        self._soft: tuple[Constraint, ...] = ()
        self._ranked: BoolArray = np.zeros(0, dtype=np.bool_)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for pods that count to come, go or change; for nodes that count to; and for the pod itself to."""
        hints = SpreadHints(self._constraints)
        return (
            ClusterEventWithHint(
                ClusterEvent(
                    Resource.ASSIGNED_POD,
                    Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE,
                ),
                hints.after_pod_change,
            ),
            ClusterEventWithHint(
                ClusterEvent(
                    Resource.NODE,
                    Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
                ),
                hints.after_node_change,
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION)
            ),
        )

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Status:
        """Skip for a pod without hard constraints."""
        constraints = self._constraints.hard(pod)
        if not constraints:
            return SKIP
        spread = _Spread(pod, nodes.cluster, constraints)
        counted = spread.fully_labelled
        bits = np.zeros(len(spread.nodes), dtype=np.uint8)
        for constraint in constraints:
            domains = spread.domains[constraint.topology_key]
            skewed = domains.at(self._skewed(pod, constraint, spread, counted))
            found = np.where(domains.labelled, np.where(skewed, _SKEWED, 0), _UNLABELLED).astype(np.uint8)
            # The first constraint that a node fails is the one that it tells of.
            bits = np.where(bits, bits, found)
        self._rejections = bits
        return SUCCESS

    def filter(self, _pod: Pod, nodes: Nodes) -> npt.NDArray[np.uint8]:
        """Return where one more pod would leave some domain too far above the lowest, or a topology label is missing."""
        return nodes.pick(self._rejections)

    def pre_score(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod without soft constraints."""
        self._soft = self._constraints.soft(pod)
        return SUCCESS if self._soft else SKIP

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return how many matching pods there are in the node's domains, fewer being better; domains of a kind weigh alike."""
        needs_labels = self._constraints.need_all_labels(pod)
        spread = _Spread(pod, nodes.cluster, self._soft, unlabelled_too=not needs_labels)
        counted = spread.fully_labelled if needs_labels else np.ones(len(spread.nodes), dtype=np.bool_)
        self._ranked = nodes.pick(counted)
        ranked_rows = nodes.rows[self._ranked]
        total = np.zeros(len(nodes), dtype=np.float64)
        for constraint in self._soft:
            domains = spread.domains[constraint.topology_key]
            counts = spread.counts(constraint)
            # A host counts its own pods, whatever the policies say of the node.
            if constraint.topology_key == _HOSTNAME:
                size = len(ranked_rows)
            else:
                size = int(np.count_nonzero(domains.sizes(ranked_rows)))
                counts = domains.at(domains.sum(counts, spread.included(constraint, counted)))
            score = nodes.pick(counts) * math.log(size + 2) + (constraint.max_skew - 1)
            total += score * nodes.pick(domains.labelled)
        total *= self._ranked
        return _rounded(total)

    def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
        """Give most to the lowest, and nothing to a node that lacks a topology label."""
        ranked = scores[self._ranked]
        if not len(ranked):
            return np.zeros_like(scores)
        lowest, highest = ranked.min(), ranked.max()
        if not highest:
            return MAX_NODE_SCORE * self._ranked.astype(np.int64)
        normalized: Scores = MAX_NODE_SCORE * (highest + lowest - scores) // highest
        return normalized * self._ranked

    def _skewed(self, pod: Pod, constraint: Constraint, spread: _Spread, counted: BoolArray) -> BoolArray:
        """Return for each domain whether one more pod is too many."""
        domains = spread.domains[constraint.topology_key]
        included = spread.included(constraint, counted)
        matching = domains.sum(spread.counts(constraint), included)
        there = matching[domains.sizes(included) > 0]
        lowest = there.min() if len(there) >= constraint.min_domains else 0
        itself = constraint.selector.matches(pod.labels)
        return matching + itself - lowest > constraint.max_skew


class _Spread:
    """The cluster as the constraints of one pod see it."""

    def __init__(
        self, pod: Pod, nodes: Nodes, constraints: tuple[Constraint, ...], *, unlabelled_too: bool = False
    ) -> None:
        self.nodes = nodes
        self.domains = {
            constraint.topology_key: Domains(
                nodes.labels(constraint.topology_key), unlabelled_too=unlabelled_too
            )
            for constraint in constraints
        }
        self.fully_labelled = reduce(np.logical_and, (each.labelled for each in self.domains.values()))
        self._pod = pod
        self._affine: BoolArray | None = None
        if any(constraint.honors_affinity for constraint in constraints):
            self._affine = match_required(pod, nodes)

    def counts(self, constraint: Constraint) -> IntArray:
        """Return how many matching pods each node has; those that are being deleted don't count."""
        if constraint.selector.is_empty:
            # It matches every pod but counts none: countPodsMatchSelector has it so.
            return np.zeros(len(self.nodes), dtype=np.int64)
        selector = PodSelector(frozenset({self._pod.metadata.namespace}), constraint.selector)
        return self.nodes.pods_matching(PodGroup((selector,), with_terminating=False))

    def included(self, constraint: Constraint, among: BoolArray) -> BoolArray:
        """Return which of these nodes count for the constraint."""
        if constraint.honors_affinity and self._affine is not None:
            among = among & self._affine
        if constraint.honors_taints:
            tolerations = self._pod.spec.tolerations
            among = among & self.nodes.taints.where(lambda taints: not excluded_by(taints, tolerations))
        return among


def _rounded(values: npt.NDArray[np.float64]) -> IntArray:
    """Return whole numbers, halves rounded up, as Go's math.Round does with what isn't negative."""
    whole = np.floor(values)
    return (whole + (values - whole >= 0.5)).astype(np.int64)
