"""The affinity terms of the pods that are placed, which attract pods to them or keep them away."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from webhook.scheduling.affinity_terms import AffinityTerm, AffinityTerms
from webhook.scheduling.columns import IntArray
from webhook.scheduling.counters import Counters
from webhook.scheduling.objects import Pod
from webhook.scheduling.selector_index import SelectorIndex

__all__ = ["PlacedTerm", "PlacedTerms", "Role"]


class Role(enum.Enum):
    """What a term does to the pods that it matches."""

    REPEL = "required anti-affinity"
    ATTRACT = "required affinity"
    PREFER = "preferred affinity or anti-affinity"


class PlacedTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A term that at least one placed pod has; `weight` counts for preferences alone."""

    role: Role
    term: AffinityTerm
    weight: int = 0


class PlacedTerms:
    """The distinct terms of all placed pods, with how many pods have them on which node.

    The pods of one workload share theirs. `row_of` gives the row of a node.
    """

    def __init__(self, row_of: Callable[[str], int | None], *, limit: int = 512) -> None:
        self._row_of = row_of
        self._nodes: dict[PlacedTerm, Counter[str]] = {}
        self._counters: Counters[PlacedTerm] = Counters(limit=limit)
        self._indexes: dict[Role, SelectorIndex[PlacedTerm]] = {role: SelectorIndex() for role in Role}

    def place(self, pod: Pod, node_name: str) -> None:
        """Count the terms of a pod on a node."""
        for placed in _terms(pod):
            nodes = self._nodes.get(placed)
            if nodes is None:
                nodes = self._nodes[placed] = Counter()
                term = placed.term
                # Which namespaces a selector matches changes with their labels.
                namespaces = term.namespaces if term.namespace_selector.impossible else None
                self._indexes[placed.role].add(placed, term.selector, namespaces)
            nodes[node_name] += 1
            self._count(placed, node_name, 1)

    def release(self, pod: Pod, node_name: str) -> None:
        """Take back what `place` counted."""
        for placed in _terms(pod):
            self._count(placed, node_name, -1)
            nodes = self._nodes[placed]
            nodes[node_name] -= 1
            if not nodes[node_name]:
                del nodes[node_name]
                if not nodes:
                    del self._nodes[placed]
                    self._indexes[placed.role].remove(placed)

    def node_added(self, pods: Iterable[Pod]) -> None:
        """Take in that the table has a new last row, for a node on which these pods already are."""
        row = self._counters.append_row()
        for pod in pods:
            for placed in _terms(pod):
                self._counters.add(placed, row, 1)

    def node_removed(self, row: int) -> None:
        """Take in that a row is gone from the table; the last one took its place."""
        self._counters.swap_remove(row)

    def matching(self, role: Role, pod: Pod, namespace_labels: Mapping[str, str]) -> Iterator[PlacedTerm]:
        """Return the terms in this role that match a pod, which isn't placed, in a namespace with these labels."""
        for placed in self._indexes[role].matching(pod.metadata.namespace, pod.labels):
            if placed.term.matches(pod, namespace_labels):
                yield placed

    def counts(self, placed: PlacedTerm) -> IntArray:
        """Return how many pods on each node have the term, in row order; read-only."""
        column = self._counters.get(placed)
        if column is None:
            counted = (
                (row, number)
                for name, number in self._nodes[placed].items()
                if (row := self._row_of(name)) is not None
            )
            self._counters.make(placed, counted)
            column = self._counters.get(placed)
            assert column is not None
        return column

    def _count(self, placed: PlacedTerm, node_name: str, number: int) -> None:
        if placed in self._counters:
            row = self._row_of(node_name)
            if row is not None:
                self._counters.add(placed, row, number)


def _terms(pod: Pod) -> Iterator[PlacedTerm]:
    terms = AffinityTerms.of(pod)
    for term in terms.required_anti:
        yield PlacedTerm(Role.REPEL, term)
    for term in terms.required:
        yield PlacedTerm(Role.ATTRACT, term)
    for weight, term in terms.preferred:
        yield PlacedTerm(Role.PREFER, term, weight)
