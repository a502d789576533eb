"""The topology domains that a label makes of the cluster's nodes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import BoolArray, IntArray, Values

__all__ = ["Domains"]

S = TypeVar("S", bound=np.generic)


class Domains:
    """A domain is a value of the label. Sums are per domain; `at` puts them back where the nodes are.

    `unlabelled_too` makes one more domain of the nodes without the label and of those whose value is empty.
    """

    __slots__ = ("_ids", "_size", "labelled")

    def __init__(self, values: Values[str | None], *, unlabelled_too: bool = False) -> None:
        self._ids = values.ids
        self._size = values.size
        self.labelled: BoolArray = ~values.equal(None)
        if unlabelled_too:
            empty = values.equal("")
            if empty.any():
                self._ids = np.where(self.labelled, self._ids, self._ids[empty][0])

    def sum(self, amounts: IntArray, among: BoolArray | None = None) -> IntArray:
        """Return the sum of the nodes' amounts by domain, of all nodes or of those where `among` is true."""
        weights = amounts if among is None else amounts * among
        return np.bincount(self._ids, weights=weights, minlength=self._size).astype(np.int64)

    def sizes(self, among: BoolArray | npt.NDArray[np.intp]) -> IntArray:
        """Return how many nodes of each domain are among these, given by a mask or by their rows; 0 also where none is."""
        return np.bincount(self._ids[among], minlength=self._size)

    def at(self, by_domain: npt.NDArray[S]) -> npt.NDArray[S]:
        """For each node, what belongs to its domain."""
        return by_domain[self._ids]
