"""The labels of namespaces, which select pods by where they are."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import Namespace

__all__ = ["Namespaces"]

# Answers kept between two changes; more selectors than this are not in use at once.
_ANSWERS = 1024


class Namespaces:
    """The namespaces by name. A namespace that isn't known has no labels and is selected by nothing."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        self._answers: dict[Selector, frozenset[str]] = {}

    def set(self, namespace: Namespace) -> None:
        """Add or update a namespace."""
        name, labels = namespace.metadata.name, namespace.metadata.labels or {}
        if self._labels.get(name) != labels:
            self._labels[name] = labels
            self._answers.clear()

    def remove(self, name: str) -> None:
        """Drop a namespace, if it is known."""
        if self._labels.pop(name, None) is not None:
            self._answers.clear()

    def labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
        return self._labels.get(name, {})

    def selected_by(self, selector: Selector) -> frozenset[str]:
        """Return the names of the namespaces that the selector matches."""
        answer = self._answers.get(selector)
        if answer is None:
            if len(self._answers) == _ANSWERS:
                self._answers.clear()
            answer = self._answers[selector] = frozenset(
                name for name, labels in self._labels.items() if selector.matches(labels)
            )
        return answer
