"""What a change means for a pod that InterPodAffinity has rejected.

Source: plugins/interpodaffinity/plugin.go. Where kube-scheduler's hints miss a change that helps, ours don't: they
read the labels of namespaces; they see that the last pod goes that kept the first of a group from anywhere else; and
that a node comes, goes or moves that the anti-affinity of other pods is about.
"""

from __future__ import annotations

from webhook.scheduling.affinity_terms import AffinityTerm, AffinityTerms
from webhook.scheduling.events import QueueingHint
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.placed_terms import PlacedTerms, Role
from webhook.scheduling.plugins.hints import queue_if

__all__ = ["AffinityHints"]


class AffinityHints:
    """The hints, by the terms of the pod and of those that are placed."""

    def __init__(self, namespaces: Namespaces, placed_terms: PlacedTerms) -> None:
        self._namespaces = namespaces
        self._placed_terms = placed_terms

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Queue where a pod that is required has come or gone, or one that is in the way has gone."""
        terms = AffinityTerms.of(pod)
        was_wanted = old is not None and self._is_wanted(old, terms)
        is_wanted = new is not None and self._is_wanted(new, terms)
        if was_wanted != is_wanted:
            return QueueingHint.QUEUE
        was_in_the_way = old is not None and self._is_in_the_way(old, pod, terms)
        return queue_if(was_in_the_way and not (new is not None and self._is_in_the_way(new, pod, terms)))

    def after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        """Queue where a node that the terms can be about has come, gone or moved to another domain."""
        terms = AffinityTerms.of(pod)
        required = {term.topology_key for term in terms.required}
        if old is None or new is None:
            # A node without any of the labels that are required is none for this pod, nor are the pods on it.
            labels = (new or old or Node()).labels
            return queue_if(not required or any(key in labels for key in required))
        repelling = self._placed_terms.matching(
            Role.REPEL, pod, self._namespaces.labels(pod.metadata.namespace)
        )
        keys = required.union(
            (term.topology_key for term in terms.required_anti),
            (placed.term.topology_key for placed in repelling),
        )
        return queue_if(any(old.labels.get(key) != new.labels.get(key) for key in keys))

    def _is_wanted(self, other: Pod, terms: AffinityTerms) -> bool:
        return bool(terms.required) and all(self._means(term, other) for term in terms.required)

    def _is_in_the_way(self, other: Pod, pod: Pod, terms: AffinityTerms) -> bool:
        return any(self._means(term, other) for term in terms.required_anti) or any(
            self._means(term, pod) for term in AffinityTerms.of(other).required_anti
        )

    def _means(self, term: AffinityTerm, pod: Pod) -> bool:
        return term.matches(pod, self._namespaces.labels(pod.metadata.namespace))
