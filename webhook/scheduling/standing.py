"""What plugins that look at each node by itself said of all nodes, kept from one decision to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from webhook.scheduling.containment import (
    ask,
    checked_bits,
    checked_numbers,
    checked_scores,
    checked_status,
)
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local, PreFilterPlugin, PreScorePlugin, ScorePlugin, Scores
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.status import Reason, Status
from webhook.scheduling.table import NodeTable, Rows

__all__ = ["Bits", "Standing"]

Bits = npt.NDArray[np.uint64]

# Where more than this share of the nodes have changed, all are asked: it costs no more.
_MOST_CHANGED = 1 / 8
_NO_ROWS: Rows = np.zeros(0, dtype=np.intp)


class Standing:
    """The answers of some local plugins, by name, to a pod that stands for all that are like it.

    They are brought up to date by `filter` and `score`, which raise PluginError for what a plugin does wrong and then
    have to be called again before anything else is asked. `plugins` may be the timed or the untimed ones.
    """

    def __init__(self, pod: Pod, table: NodeTable, local: Mapping[str, Local]) -> None:
        self._pod = pod
        self._table = table
        self._local = local
        self._pre_filter: dict[str, Status | frozenset[str]] = {}
        self._pre_score: dict[str, Status] = {}
        # By filter: for all rows, or None as long as no node is rejected.
        self._bits: dict[str, Bits | None] = {}
        self._reasons: dict[str, tuple[Reason, ...]] = {}
        self._scores: dict[str, Scores] = {}
        self._alike: dict[str, bool] = {}
        # The weighted sum of the scores that are not normalized.
        self._total: Scores = np.zeros(0, dtype=np.int64)
        # How far the changes of the table are in, those of each kind.
        self._filtered = [-1, -1]
        self._scored = [-1, -1]

    def pre_filter(self, each: Enabled[PreFilterPlugin], nodes: Nodes) -> Status | frozenset[str]:
        """Return what the plugin says of these pods; raises PluginError."""
        answer = self._pre_filter.get(each.name)
        if answer is None:
            answer = ask(each.name, "pre_filter", each.plugin.pre_filter, self._pod, nodes)
            if not isinstance(answer, frozenset):
                answer = checked_status(each.name, "pre_filter", answer)
            self._pre_filter[each.name] = answer
        return answer

    def pre_score(self, each: Enabled[PreScorePlugin], nodes: Nodes) -> Status:
        """Return what the plugin says of these pods; raises PluginError."""
        status = self._pre_score.get(each.name)
        if status is None:
            answer = ask(each.name, "pre_score", each.plugin.pre_score, self._pod, nodes)
            status = self._pre_score[each.name] = checked_status(each.name, "pre_score", answer)
        return status

    def filter(self, plugins: PluginSet, skip: Set[str]) -> None:
        """Take in how the nodes have changed for the local filters but those to skip; raises PluginError."""
        for local, rows in self._changed_since(self._filtered):
            nodes = Nodes(self._table, rows)
            for each in plugins.filter:
                if self._local.get(each.name) is local and each.name not in skip:
                    answer = ask(each.name, "filter", each.plugin.filter, self._pod, nodes)
                    reasons = ask(each.name, "filter", attrgetter("reasons"), each.plugin)
                    bits = checked_bits(each.name, answer, reasons, len(nodes))
                    if bits is not None:
                        self._reasons[each.name] = reasons
                    self._keep_bits(each.name, rows, bits)

    def rejections(self, name: str, nodes: Nodes) -> tuple[Bits, tuple[Reason, ...]] | None:
        """Return a filter's bits for these nodes and what they stand for, or None if it rejects no node at all."""
        bits = self._bits[name]
        if bits is None:
            return None
        # A copy, as the answer outlives this decision.
        return bits[nodes.rows], self._reasons[name]

    def score(self, plugins: PluginSet, skip: Set[str]) -> None:
        """Take in how the nodes have changed for the local scores but those to skip; raises PluginError."""
        scoring = [each for each in plugins.score if each.name in self._local and each.name not in skip]
        changed: Rows | None = _NO_ROWS
        for local, changed in self._changed_since(self._scored):
            nodes = Nodes(self._table, changed)
            for each in scoring:
                name = each.name
                if self._local[name] is local:
                    answer = ask(name, "score", each.plugin.score, self._pod, nodes)
                    check = checked_numbers if name in plugins.normalize else checked_scores
                    scores = check(name, "score", answer, nodes)
                    self._scores[name] = column = _put(self._scores.get(name, scores), changed, scores)
                    self._alike[name] = name in plugins.normalize and bool(np.all(column == column[0]))
        if changed is None or len(changed):
            self._add_up([each for each in scoring if each.name not in plugins.normalize], changed)

    def scores(self, name: str, nodes: Nodes) -> Scores:
        """Return a plugin's scores for these nodes, which aren't normalized; not to be written to."""
        return nodes.pick(self._scores[name])

    def are_alike(self, name: str) -> bool:
        """Tell whether the plugin, whose scores are to be normalized, gave all nodes the same."""
        return self._alike[name]

    def total(self, nodes: Nodes) -> Scores:
        """Return the weighted sum of the scores that need no normalization for these nodes; not to be written to."""
        return nodes.pick(self._total)

    def _keep_bits(self, name: str, rows: Rows | None, bits: Bits | None) -> None:
        if rows is None:
            self._bits[name] = bits
            return
        known = self._bits[name]
        if known is None:
            if bits is None:
                return
            known = self._bits[name] = np.zeros(len(self._table), dtype=np.uint64)
        known[rows] = 0 if bits is None else bits
        if bits is None and not np.count_nonzero(known):
            self._bits[name] = None

    def _add_up(self, summed: Sequence[Enabled[ScorePlugin]], rows: Rows | None) -> None:
        total: Scores = np.zeros(len(self._table) if rows is None else len(rows), dtype=np.int64)
        for each in summed:
            scores = self._scores[each.name]
            scores = scores if rows is None else scores[rows]
            total = total + (scores if each.weight == 1 else each.weight * scores)
        self._total = _put(self._total, rows, total)

    def _changed_since(self, up_to: list[int]) -> Iterator[tuple[Local, Rows | None]]:
        """Yield for each kind of change the rows that have seen it, None for all; once dealt with, they are up to date.

        The second kind includes the first.
        """
        table = self._table
        kinds = ((Local.NODE, table.node_changes), (Local.NODE_AND_PODS, table.changes))
        for index, (local, changes) in enumerate(kinds):
            now = changes.now
            if up_to[index] != now:
                rows = changes.since(up_to[index])
                if rows is not None and len(rows) > _MOST_CHANGED * len(table):
                    rows = None
                yield local, rows
                up_to[index] = now


def _put(column: Scores, rows: Rows | None, scores: Scores) -> Scores:
    """Return the column with these scores in some rows, or a copy of them for all: a plugin may answer with the table's."""
    if rows is None:
        return scores.copy()
    if scores.dtype != column.dtype:
        column = column.astype(np.float64)
    column[rows] = scores
    return column
