"""InterPodAffinity: pods near to, or away from, other pods that are placed.

What a placed pod says of others holds too: its required anti-affinity keeps them away, and its affinity and
preferences rank nodes for them. Source: pkg/scheduler/framework/plugins/interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.scheduling.affinity_terms import AffinityTerm, AffinityTerms
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import BoolArray, IntArray
from webhook.scheduling.domains import Domains
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.placed_terms import Role
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Scores
from webhook.scheduling.plugins.affinity_hints import AffinityHints
from webhook.scheduling.pod_groups import PodGroup
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["InterPodAffinity"]


class AffinityArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The arguments, as in kube-scheduler."""

    hard_pod_affinity_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class InterPodAffinity:
    """Required terms exclude nodes, preferred ones rank them. Args as in kube-scheduler."""

    reasons = (
        Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match pod affinity rules"),
        Reason(Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules"),
        Reason(Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules"),
    )

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._args = parse_args("InterPodAffinity", args, AffinityArgs)
        self._namespaces = handle.cache.namespaces
        self._placed_terms = handle.cache.table.placed_terms
        # Over the whole cluster, from `pre_filter` to `filter` and from `pre_score` to `score`.
        self._rejections: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._scores: IntArray = np.zeros(0, dtype=np.int64)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for pods that are meant to come, go or change their labels; for nodes to; and for the pod itself to."""
        hints = AffinityHints(self._namespaces, self._placed_terms)
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.ASSIGNED_POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL),
                hints.after_pod_change,
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL),
                hints.after_node_change,
            ),
            ClusterEventWithHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_LABEL)),
        )

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Status:
        """Skip for a pod that requires nothing of others and that no placed pod keeps away."""
        terms = AffinityTerms.of(pod)
        view = _View(nodes.cluster, self._namespaces)
        repelled = view.repelled(pod)
        if repelled is None and not terms.required and not terms.required_anti:
            return SKIP
        bits = np.zeros(len(view.nodes), dtype=np.uint8)
        # The first rule that a node breaks is the one that it tells of.
        if repelled is not None:
            bits[repelled] = 4
        if terms.required_anti:
            bits[view.has_one_of(terms.required_anti)] = 2
        if terms.required:
            bits[~view.has_all_of(terms.required, pod)] = 1
        self._rejections = bits
        return SUCCESS

    def filter(self, _pod: Pod, nodes: Nodes) -> npt.NDArray[np.uint8]:
        """Return where pods that are required are absent, or those to keep away from are present, domain by domain."""
        return nodes.pick(self._rejections)

    def pre_score(self, pod: Pod, nodes: Nodes) -> Status:
        """Skip for a pod that neither prefers others nor is preferred by them."""
        terms = AffinityTerms.of(pod)
        if self._args.ignore_preferred_terms_of_existing_pods and not terms.preferred:
            return SKIP
        view = _View(nodes.cluster, self._namespaces)
        weighted = view.weighted(pod, terms, self._args.hard_pod_affinity_weight)
        if not weighted:
            return SKIP
        self._scores = np.zeros(len(view.nodes), dtype=np.int64)
        for key, amounts in weighted.items():
            domains = view.domains(key)
            self._scores += domains.at(domains.sum(amounts)) * domains.labelled
        return SUCCESS

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        """Return the sum of the weights of all terms that are met in the node's domains, by the pod and by those placed."""
        return nodes.pick(self._scores)

    def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
        """Spread the scores over the range, from the lowest to the highest."""
        lowest = scores.min()
        span = scores.max() - lowest
        if not span:
            return np.zeros_like(scores)
        normalized: IntArray = (MAX_NODE_SCORE * ((scores - lowest) / span)).astype(np.int64)
        return normalized


class _View:
    """The cluster, asked by topology domain."""

    def __init__(self, nodes: Nodes, namespaces: Namespaces) -> None:
        self.nodes = nodes
        self._namespaces = namespaces
        self._domains: dict[str, Domains] = {}

    def domains(self, key: str) -> Domains:
        """Return the domains of a topology key."""
        if key not in self._domains:
            self._domains[key] = Domains(self.nodes.labels(key))
        return self._domains[key]

    def repelled(self, pod: Pod) -> BoolArray | None:
        """Return where the required anti-affinity of a placed pod keeps this one away; None for nowhere."""
        counts: dict[str, IntArray] = {}
        labels = self._namespaces.labels(pod.metadata.namespace)
        for placed in self.nodes.placed_terms.matching(Role.REPEL, pod, labels):
            _add(counts, placed.term.topology_key, self.nodes.pods_with(placed))
        return self._present(counts) if counts else None

    def has_one_of(self, terms: tuple[AffinityTerm, ...]) -> BoolArray:
        """Return where a pod that one of the terms means is in the node's domain."""
        counts: dict[str, IntArray] = {}
        for term in terms:
            _add(counts, term.topology_key, self._matching(term))
        return self._present(counts)

    def has_all_of(self, terms: tuple[AffinityTerm, ...], pod: Pod) -> BoolArray:
        """Return where for each term a pod that all of them mean is in the node's domain.

        The first of pods that want to be together finds none anywhere, and may go wherever the labels are.
        """
        group = PodGroup(tuple(term.among(self._namespaces) for term in terms))
        counts = self.nodes.pods_matching(group)
        labelled = np.ones(len(self.nodes), dtype=np.bool_)
        present = labelled.copy()
        found = False
        for term in terms:
            domains = self.domains(term.topology_key)
            labelled &= domains.labelled
            present &= domains.at(domains.sum(counts) > 0)
            found = found or bool(np.any(counts[domains.labelled]))
        if not found and all(each.matches(pod.metadata.namespace, pod.labels) for each in group.selectors):
            return labelled
        return labelled & present

    def weighted(self, pod: Pod, terms: AffinityTerms, hard_weight: int) -> dict[str, IntArray]:
        """Return by topology key the weights of the terms that pods on each node meet; empty if none are."""
        amounts: dict[str, IntArray] = {}
        for weight, term in terms.preferred:
            counts = self._matching(term)
            if counts.any():
                _add(amounts, term.topology_key, weight * counts)
        labels = self._namespaces.labels(pod.metadata.namespace)
        for placed in self.nodes.placed_terms.matching(Role.PREFER, pod, labels):
            _add(amounts, placed.term.topology_key, placed.weight * self.nodes.pods_with(placed))
        if hard_weight:
            for placed in self.nodes.placed_terms.matching(Role.ATTRACT, pod, labels):
                _add(amounts, placed.term.topology_key, hard_weight * self.nodes.pods_with(placed))
        return amounts

    def _matching(self, term: AffinityTerm) -> IntArray:
        return self.nodes.pods_matching(PodGroup((term.among(self._namespaces),)))

    def _present(self, counts: Mapping[str, IntArray]) -> BoolArray:
        mask = np.zeros(len(self.nodes), dtype=np.bool_)
        for key, column in counts.items():
            domains = self.domains(key)
            mask |= domains.at(domains.sum(column) > 0) & domains.labelled
        return mask


def _add(columns: dict[str, IntArray], key: str, column: IntArray) -> None:
    columns[key] = columns[key] + column if key in columns else column
