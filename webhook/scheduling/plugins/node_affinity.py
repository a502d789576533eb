"""NodeAffinity: `spec.nodeSelector` and `spec.affinity.nodeAffinity`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.normalize import relative_to_highest
from webhook.scheduling.objects import NodeAffinity as Affinity
from webhook.scheduling.objects import NodeSelectorTerm, Pod
from webhook.scheduling.plugin import Local, Scores
from webhook.scheduling.plugins.hints import when_node_lets_in
from webhook.scheduling.selectors import match_required, match_term
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["NodeAffinity"]

_NONE = Affinity()


class NodeAffinity:
    """Required terms exclude nodes; preferred ones add their weight to the score."""

    local = Local.NODE
    reasons = (
        Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector"),
    )

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node that matches, newly or by new labels."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
                when_node_lets_in(self.filter),
            ),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status | frozenset[str]:
        """Return the node names where each term asks for some by `metadata.name` (as DaemonSet pods do)."""
        required = _affinity(pod).required
        if required is None:
            return SUCCESS if pod.spec.node_selector else SKIP
        names = _node_names(required.node_selector_terms or ())
        if names is None:
            return SUCCESS
        return names or Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",))

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where the node selector and one of the required terms hold."""
        mask = match_required(pod, nodes)
        return np.ones(len(nodes), dtype=np.bool_) if mask is None else mask

    def pre_score(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod without preferences."""
        return SUCCESS if _affinity(pod).preferred else SKIP

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return the sum of the weights of the preferred terms that hold."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for preferred in _affinity(pod).preferred:
            total += preferred.weight * match_term(preferred.preference, nodes)
        return total

    def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
        """Scale the scores in proportion to the highest."""
        return relative_to_highest(scores)


def _affinity(pod: Pod) -> Affinity:
    affinity = pod.spec.affinity
    return _NONE if affinity is None or affinity.node_affinity is None else affinity.node_affinity


def _node_names(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return the names that the terms allow, or None if a term (or having none) leaves the name open."""
    allowed: frozenset[str] | None = None
    for term in terms:
        names: frozenset[str] | None = None
        for requirement in term.match_fields:
            if requirement.key == "metadata.name" and requirement.operator == "In":
                values = frozenset(requirement.values)
                names = values if names is None else names & values
        if names is None:
            return None
        allowed = names if allowed is None else allowed | names
    return allowed
