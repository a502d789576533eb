"""What all objects have in common."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["ApiObject", "Present", "Quantity", "ResourceList"]

# The API server writes strings; people write numbers in the manifests that they want simulated.
Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]


class ApiObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A part of an object, immutable and compared by value.

    Decoded objects are trees, so the cycle collector has nothing to find in tens of thousands of pods.
    """


class Present(ApiObject, frozen=True, kw_only=True):
    """A field that only matters by being there."""
