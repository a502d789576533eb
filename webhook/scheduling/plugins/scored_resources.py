"""The resources that NodeResourcesFit and NodeResourcesBalancedAllocation score, and how they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
import numpy as np

from webhook.scheduling.columns import IntArray
from webhook.scheduling.resources import CPU, MEMORY, is_scalar

__all__ = ["DEFAULT_RESOURCES", "ResourceSpec", "Resources", "Wanted", "scored_amount"]


class Wanted(NamedTuple):
    """What a pod asks of some resources; the amounts stand below each other, to be compared with a line per resource."""

    names: tuple[str, ...]
    amounts: IntArray

    @classmethod
    def of(cls, amounts: Iterable[tuple[str, int]]) -> Wanted:
        """Return these amounts by name, in their order."""
        pairs = tuple(amounts)
        column = np.array([amount for _, amount in pairs], dtype=np.int64).reshape(-1, 1)
        return cls(tuple(name for name, _ in pairs), column)


class ResourceSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A resource and how much it weighs against the others."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    weight: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


Resources: TypeAlias = Annotated[tuple[ResourceSpec, ...], msgspec.Meta(min_length=1)]

DEFAULT_RESOURCES = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


def scored_amount(requests: Mapping[str, int], resource: str) -> int | None:
    """Return what the pod requests; None for an extended resource that it doesn't, which then isn't scored."""
    amount = requests.get(resource, 0)
    return None if not amount and is_scalar(resource) else amount
