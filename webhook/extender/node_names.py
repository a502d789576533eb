"""Between the names of nodes as they are in a body and the rows of the node table, thousands at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.table import NodeTable

__all__ = ["NamedNodes", "NodeNames"]

# The lists of a pod's two requests, and one to spare.
_LISTS_KEPT = 3

_names = msgspec.json.Decoder(list[str])


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """The nodes of a list, and the names in it that no node is known by."""

    nodes: Nodes
    unknown: Sequence[str] = ()


class NodeNames:
    """What is kept of names as long as no node comes or goes.

    kube-scheduler sends back the list that we answered, byte for byte, when it goes on to scores: it is found again
    without a look into it.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._version = -1
        self._quoted: npt.NDArray[np.object_] = np.empty(0, dtype=np.object_)
        self._lists: deque[tuple[bytes, NamedNodes]] = deque(maxlen=_LISTS_KEPT)

    def find(self, names: bytes) -> NamedNodes:
        """Return the nodes of a JSON list of names; raises msgspec.DecodeError."""
        self._refresh()
        for known, found in self._lists:
            if known == names:
                return found
        found = self._look_up(_names.decode(names))
        self._lists.append((names, found))
        return found

    def list_of(self, nodes: Nodes) -> bytes:
        """Return the nodes' names as a JSON list, which `find` will know again."""
        names = b"[" + b",".join(self.quoted(nodes).tolist()) + b"]"
        self._lists.append((names, NamedNodes(nodes)))
        return names

    def quoted(self, nodes: Nodes) -> npt.NDArray[np.object_]:
        """Return the nodes' names as JSON strings, as bytes."""
        self._refresh()
        return nodes.pick(self._quoted)

    def _refresh(self) -> None:
        changes = self._table.node_changes
        if changes.since(self._version) is None:
            self._lists.clear()
            every = [msgspec.json.encode(node.name) for node in self._table.all_nodes()]
            self._quoted = np.empty(len(every), dtype=np.object_)
            self._quoted[:] = every
        self._version = changes.now

    def _look_up(self, names: Sequence[str]) -> NamedNodes:
        rows = self._table.rows_of(names)
        unknown = [names[position] for position in np.flatnonzero(rows < 0).tolist()]
        named = np.zeros(len(self._table), dtype=np.bool_)
        named[rows[rows >= 0]] = True
        every = Nodes(self._table)
        return NamedNodes(every if named.all() else every.narrow(named), unknown)
