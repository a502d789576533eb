"""Many selectors, asked which of them match one set of labels, without trying them all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from webhook.scheduling.labels import Selector

__all__ = ["SelectorIndex"]

K = TypeVar("K", bound=Hashable)

# A namespace, None for any; and a label that must be there, None for a selector that requires no label's value.
_Shelf: TypeAlias = tuple[str | None, tuple[str, str] | None]


class SelectorIndex(Generic[K]):
    """Items by their selector. Each is kept under one label that it requires, so most others are never looked at."""

    def __init__(self) -> None:
        self._shelves: dict[_Shelf, dict[K, Selector]] = {}
        self._places: dict[K, list[_Shelf]] = {}

    def add(self, item: K, selector: Selector, namespaces: Iterable[str] | None) -> None:
        """Take in an item; `namespaces` are those in which it can match, None if in any."""
        scopes = (None,) if namespaces is None else namespaces
        places = self._places[item] = [(scope, self._label_for(scope, selector)) for scope in scopes]
        for shelf in places:
            self._shelves.setdefault(shelf, {})[item] = selector

    def remove(self, item: K) -> None:
        """Drop an item."""
        for shelf in self._places.pop(item):
            items = self._shelves[shelf]
            del items[item]
            if not items:
                del self._shelves[shelf]

    def matching(self, namespace: str, labels: Mapping[str, str]) -> Iterator[K]:
        """Return the items whose selector matches these labels of something in this namespace."""
        if not self._shelves:
            return
        for scope in (namespace, None):
            for label in (*labels.items(), None):
                for item, selector in self._shelves.get((scope, label), {}).items():
                    if selector.matches(labels):
                        yield item

    def _label_for(self, scope: str | None, selector: Selector) -> tuple[str, str] | None:
        """Return the required label that the fewest others are kept under."""
        return min(selector.equal, key=lambda label: len(self._shelves.get((scope, label), ())), default=None)
