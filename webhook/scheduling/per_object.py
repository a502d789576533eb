"""What is worked out of a pod or a node, once for all who ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["per_object"]

T = TypeVar("T")
O_contra = TypeVar("O_contra", contravariant=True)


def per_object(work_out: Callable[[O_contra], T], *, most: int = 256) -> Callable[[O_contra], T]:
    """Return the function with a memory of up to `most` objects that it was asked about; they must never change."""
    known: dict[int, tuple[O_contra, T]] = {}

    def remembered(obj: O_contra) -> T:
        # Objects of the API can't be hashed. While one is kept, no other has its id.
        found = known.get(id(obj))
        if found is None:
            if len(known) >= most:
                known.clear()
            found = known[id(obj)] = (obj, work_out(obj))
        return found[1]

    return remembered
