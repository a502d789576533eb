"""Registers of what nodes and pods can have: a function each, which changes a manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias, TypeVar

from tests.conformance.model import Json

__all__ = ["Feature", "Features", "Sketch"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """A manifest in the making, the names of the scenario's nodes, and chance."""

    manifest: Json
    rng: Random
    nodes: Sequence[str] = ()

    @property
    def spec(self) -> Json:
        """The manifest's spec."""
        spec: Json = self.manifest["spec"]
        return spec

    @property
    def labels(self) -> dict[str, str]:
        """The manifest's labels."""
        labels: dict[str, str] = self.manifest["metadata"]["labels"]
        return labels

    def one(self, choices: Sequence[T]) -> T:
        """Return one of them."""
        return self.rng.choice(choices)

    def some(self, choices: Sequence[T], *, most: int = 2) -> list[T]:
        """Return at least one, and all different."""
        return self.rng.sample(choices, self.rng.randint(1, min(most, len(choices))))


Feature: TypeAlias = Callable[[Sketch], None]


@dataclass(frozen=True)
class Features:
    """The functions by name, with `-` for `_`; the names are in `lots` as often as they are to be drawn."""

    by_name: dict[str, Feature] = field(default_factory=dict)
    lots: list[str] = field(default_factory=list)

    def __call__(self, feature: Feature) -> Feature:
        """Add the decorated function."""
        return self._add(feature, 1)

    def drawn(self, lots: int) -> Callable[[Feature], Feature]:
        """Add the decorated function, to be drawn so many times as often as others."""
        return lambda feature: self._add(feature, lots)

    def apply(self, sketch: Sketch, *, most: int) -> frozenset[str]:
        """Apply up to `most` of them, in the order in which they are written, and return their names."""
        drawn = frozenset(sketch.rng.sample(self.lots, sketch.rng.randint(0, most)))
        for name, feature in self.by_name.items():
            if name in drawn:
                feature(sketch)
        return drawn

    def _add(self, feature: Feature, lots: int) -> Feature:
        name = feature.__name__.replace("_", "-")
        self.by_name[name] = feature
        self.lots.extend([name] * lots)
        return feature
