"""How many of the placed pods match a selector, node by node, without looking at pods when it is asked.

Pods that no selector can tell apart (same namespace, same labels) are one kind. A group is what one selector
matches: a set of kinds, with a column of counts that every placement updates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from webhook.scheduling.columns import IntArray
from webhook.scheduling.counters import Counters
from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import Pod
from webhook.scheduling.selector_index import SelectorIndex

__all__ = ["PodGroup", "PodGroups", "PodSelector"]


class PodSelector(msgspec.Struct, frozen=True, gc=False):
    """Pods with certain labels, in some namespaces or (None) in any."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, namespace: str, labels: dict[str, str]) -> bool:
        """Tell whether a pod with these labels in this namespace is one of them."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return self.selector.matches(labels)


class PodGroup(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The pods that all of these select; those that are being deleted too, or not."""

    selectors: tuple[PodSelector, ...]
    with_terminating: bool = True


_KindKey: TypeAlias = tuple[str, frozenset[tuple[str, str]], bool]


@dataclass(slots=True, eq=False)
class _Kind:
    namespace: str
    labels: dict[str, str]
    terminating: bool
    nodes: Counter[str] = field(default_factory=Counter)
    # The kept groups that it belongs to.
    groups: set[PodGroup] = field(default_factory=set)

    def is_in(self, group: PodGroup) -> bool:
        if self.terminating and not group.with_terminating:
            return False
        return all(part.matches(self.namespace, self.labels) for part in group.selectors)


class PodGroups:
    """The placed pods by kind, and the counts of the groups that were asked for last.

    Pods count by the name of their node, so those on a node that isn't known count again as soon as it is.
    `row_of` gives the row of a node.
    """

    def __init__(self, row_of: Callable[[str], int | None], *, limit: int = 512) -> None:
        self._row_of = row_of
        self._kinds: dict[_KindKey, _Kind] = {}
        self._kinds_in: dict[str, dict[_KindKey, _Kind]] = {}
        self._counters: Counters[PodGroup] = Counters(limit=limit)
        self._index: SelectorIndex[PodGroup] = SelectorIndex()
        self._members: dict[PodGroup, set[_Kind]] = {}

    def place(self, pod: Pod, node_name: str) -> None:
        """Count a pod on a node."""
        key = _key(pod)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._add_kind(key, pod)
        kind.nodes[node_name] += 1
        self._count(kind, node_name, 1)

    def release(self, pod: Pod, node_name: str) -> None:
        """Take back what `place` counted."""
        key = _key(pod)
        kind = self._kinds[key]
        self._count(kind, node_name, -1)
        kind.nodes[node_name] -= 1
        if not kind.nodes[node_name]:
            del kind.nodes[node_name]
            if not kind.nodes:
                self._drop_kind(key, kind)

    def node_added(self, pods: Iterable[Pod]) -> None:
        """Take in that the table has a new last row, for a node on which these pods already are."""
        row = self._counters.append_row()
        for pod in pods:
            for group in self._kinds[_key(pod)].groups:
                self._counters.add(group, row, 1)

    def node_removed(self, row: int) -> None:
        """Take in that a row is gone from the table; the last one took its place."""
        self._counters.swap_remove(row)

    def counts(self, group: PodGroup) -> IntArray:
        """Return the number of the group's pods on each node, in row order; read-only."""
        column = self._counters.get(group)
        return column if column is not None else self._keep(group)

    def _count(self, kind: _Kind, node_name: str, number: int) -> None:
        if kind.groups:
            row = self._row_of(node_name)
            if row is not None:
                for group in kind.groups:
                    self._counters.add(group, row, number)

    def _keep(self, group: PodGroup) -> IntArray:
        members = self._members[group] = {kind for kind in self._candidates(group) if kind.is_in(group)}
        counted = (
            (row, number)
            for kind in members
            for name, number in kind.nodes.items()
            if (row := self._row_of(name)) is not None
        )
        dropped = self._counters.make(group, counted)
        if dropped is not None:
            self._index.remove(dropped)
            for kind in self._members.pop(dropped):
                kind.groups.discard(dropped)
        for kind in members:
            kind.groups.add(group)
        first = group.selectors[0]
        self._index.add(group, first.selector, first.namespaces)
        column = self._counters.get(group)
        assert column is not None
        return column

    def _candidates(self, group: PodGroup) -> Iterator[_Kind]:
        namespaces = group.selectors[0].namespaces
        if namespaces is None:
            yield from self._kinds.values()
        else:
            for namespace in namespaces:
                yield from self._kinds_in.get(namespace, {}).values()

    def _add_kind(self, key: _KindKey, pod: Pod) -> _Kind:
        kind = self._kinds[key] = _Kind(pod.metadata.namespace, pod.labels, pod.is_terminating)
        self._kinds_in.setdefault(kind.namespace, {})[key] = kind
        for group in self._index.matching(kind.namespace, kind.labels):
            if kind.is_in(group):
                kind.groups.add(group)
                self._members[group].add(kind)
        return kind

    def _drop_kind(self, key: _KindKey, kind: _Kind) -> None:
        del self._kinds[key]
        alike = self._kinds_in[kind.namespace]
        del alike[key]
        if not alike:
            del self._kinds_in[kind.namespace]
        for group in kind.groups:
            self._members[group].remove(kind)


def _key(pod: Pod) -> _KindKey:
    return (pod.metadata.namespace, frozenset(pod.labels.items()), pod.is_terminating)
