"""Label selectors (`metav1.LabelSelector`) in the form that scheduling works with: comparable, and usable as keys."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from webhook.scheduling.objects import LabelSelector, LabelSelectorRequirement

__all__ = ["EVERYTHING", "NOTHING", "Selector"]


class Selector(msgspec.Struct, frozen=True, gc=False):
    """Requirements on labels that must all hold; without any it matches everything."""

    equal: tuple[tuple[str, str], ...] = ()
    expressions: tuple[LabelSelectorRequirement, ...] = ()
    impossible: bool = False

    @classmethod
    def of(cls, selector: LabelSelector | None) -> Selector:
        """Return the selector as it is in a manifest, where an absent one matches nothing."""
        if selector is None:
            return NOTHING
        return cls(tuple(sorted(selector.match_labels.items())), selector.match_expressions)

    @property
    def is_empty(self) -> bool:
        """There is no requirement."""
        return not (self.equal or self.expressions or self.impossible)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether all requirements hold."""
        if self.impossible:
            return False
        for key, value in self.equal:
            if labels.get(key) != value:
                return False
        return all(_holds(requirement, labels) for requirement in self.expressions)

    def requiring(self, labels: Mapping[str, str]) -> Selector:
        """Return this selector with these labels required too."""
        equal = {*self.equal, *labels.items()}
        return Selector(tuple(sorted(equal)), self.expressions, self.impossible)

    def both(self, other: Selector) -> Selector:
        """Return a selector that matches what this one and the other match."""
        equal = {*self.equal, *other.equal}
        expressions = self.expressions + other.expressions
        return Selector(tuple(sorted(equal)), expressions, self.impossible or other.impossible)


EVERYTHING = Selector()
NOTHING = Selector(impossible=True)


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            # The API server admits no other operator.
            return False
