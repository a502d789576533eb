"""Required anti-affinity of the pods already placed, which keeps other pods away from them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import Pod, PodAffinityTerm

__all__ = ["Repulsion"]


@dataclass(slots=True)
class _Held:
    namespace: str
    term: PodAffinityTerm
    pods: int = 0

    def may_hit(self, pod: Pod) -> bool:
        if not self._covers_namespace(pod.metadata.namespace):
            return False
        return Selector.of(self.term.label_selector).matches(pod.labels)

    def _covers_namespace(self, namespace: str) -> bool:
        # The labels of namespaces aren't known here, so a namespaceSelector may cover any of them.
        if self.term.namespace_selector is not None or namespace in self.term.namespaces:
            return True
        return not self.term.namespaces and namespace == self.namespace


class Repulsion:
    """The distinct terms of all placed pods; the pods of one workload share theirs."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bytes], _Held] = {}

    def add(self, pod: Pod) -> None:
        """Count the terms of a pod that is placed."""
        for key, term in _terms(pod):
            self._held.setdefault(key, _Held(pod.metadata.namespace, term)).pods += 1

    def remove(self, pod: Pod) -> None:
        """Take back what `add` counted."""
        for key, _ in _terms(pod):
            held = self._held[key]
            held.pods -= 1
            if not held.pods:
                del self._held[key]

    def may_hit(self, pod: Pod) -> bool:
        """Whether a placed pod may refuse this one as a neighbour somewhere; errs on the side of yes."""
        return any(held.may_hit(pod) for held in self._held.values())


def _terms(pod: Pod) -> list[tuple[tuple[str, bytes], PodAffinityTerm]]:
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return []
    return [
        ((pod.metadata.namespace, msgspec.json.encode(term)), term)
        for term in affinity.pod_anti_affinity.required
    ]
