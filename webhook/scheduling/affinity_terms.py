"""The terms of a pod's affinity to other pods, as they are compared with pods.

`matchLabelKeys` and `mismatchLabelKeys` aren't read: the API server has put what they mean into the label selector
of the term when the pod was made (pkg/registry/core/pod/strategy.go).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from webhook.scheduling.labels import Selector
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.objects import Pod, PodAffinity, PodAffinityTerm
from webhook.scheduling.pod_groups import PodSelector

__all__ = ["AffinityTerm", "AffinityTerms"]


class AffinityTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Pods with certain labels, in certain namespaces, within one topology domain."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Tell whether the pod is one of those that the term means."""
        if pod.metadata.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(pod.labels)
        return False

    def among(self, namespaces: Namespaces) -> PodSelector:
        """Return the pods that the term means, with the namespaces as they are labelled now."""
        if self.namespace_selector.is_empty:
            return PodSelector(None, self.selector)
        if self.namespace_selector.impossible:
            return PodSelector(self.namespaces, self.selector)
        return PodSelector(self.namespaces | namespaces.selected_by(self.namespace_selector), self.selector)


class AffinityTerms(msgspec.Struct, frozen=True, gc=False):
    """All terms of a pod. Preferences are (weight, term), with negative weights for anti-affinity."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[int, AffinityTerm], ...] = ()

    @classmethod
    def of(cls, pod: Pod) -> AffinityTerms:
        """Return the terms of this pod."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return _NONE
        near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
        namespace = pod.metadata.namespace
        liked = ((each.weight, _term(each.pod_affinity_term, namespace)) for each in near.preferred)
        disliked = ((-each.weight, _term(each.pod_affinity_term, namespace)) for each in apart.preferred)
        return cls(
            required=tuple(_term(each, namespace) for each in near.required),
            required_anti=tuple(_term(each, namespace) for each in apart.required),
            preferred=(*liked, *disliked),
        )


_NONE = AffinityTerms()


def _term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        topology_key=term.topology_key,
        selector=Selector.of(term.label_selector),
        namespaces=frozenset({namespace}) if own else frozenset(term.namespaces),
        namespace_selector=Selector.of(term.namespace_selector),
    )
