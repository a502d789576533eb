"""One attempt to find a node for a pod: the plugins are asked in kube-scheduler's order (pkg/scheduler/schedule_one.go).

A node answers with the first filter that rejects it. Of several nodes with the highest total, one is drawn at
random, so that equal nodes fill evenly.
"""

from __future__ import annotations

import random
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from webhook.scheduling.containment import (
    PluginError,
    ask,
    checked_bits,
    checked_numbers,
    checked_scores,
    checked_status,
)
from webhook.scheduling.measurements import Measurements
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Diagnosis, FitError, Placement, Rejection
from webhook.scheduling.plugin import FilterPlugin, Nomination, ScorePlugin, Scores
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.record import Record
from webhook.scheduling.standing import Bits, Standing
from webhook.scheduling.standings import PodStanding
from webhook.scheduling.status import SUCCESS, Code, Reason, Status

__all__ = ["SchedulingCycle", "Search"]


@dataclass(slots=True)
class _PreFiltered:
    """What the PreFilter plugins left over: filters to skip, node names to look at, or a rejection."""

    skip: set[str] = field(default_factory=set)
    names: frozenset[str] | None = None
    narrowed_by: frozenset[str] = frozenset()
    rejection: Status | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """The feasible nodes, and why each of the others isn't."""

    feasible: Nodes
    diagnosis: Diagnosis
    evaluated: int


class SchedulingCycle:
    """The attempt for one pod. `standing` is what is known of the pods like it; `record` takes what was said of each node."""

    def __init__(
        self,
        pod: Pod,
        plugins: PluginSet,
        standing: Standing | PodStanding,
        record: Record | None,
        measurements: Measurements,
    ) -> None:
        self._pod = pod
        self._plugins = plugins
        self._standing = standing
        self._record = record
        self._span = measurements.span
        self._evaluations = measurements.evaluations

    def run(self, nodes: Nodes, rng: random.Random) -> Placement | FitError:
        """Return the outcome; raises PluginError for what a plugin does wrong."""
        if not len(nodes):
            return FitError(self._pod, Diagnosis(all_nodes=0))
        search = self.search(nodes)
        feasible = search.feasible
        if self._record is not None:
            self._record.diagnosis, self._record.feasible = search.diagnosis, feasible.rows
        if not len(feasible):
            return self._no_fit(nodes, search.diagnosis)
        position = 0
        if len(feasible) > 1:
            total = self._rank(feasible)
            best = np.flatnonzero(total == total[total.argmax()])
            position = int(best[rng.randrange(len(best))])
        elif self._record is not None:
            # Without rivals it is chosen whatever its scores, so a plugin that can't give one does no harm.
            with suppress(PluginError):
                self._rank(feasible)
        node = feasible[position].node
        return Placement(self._pod, node.name, node.metadata.uid, search.evaluated, len(feasible))

    def search(self, nodes: Nodes) -> Search:
        """Return which of these nodes can run the pod, and why the others can't; raises PluginError."""
        with self._span("PreFilter") as span:
            pre = self._pre_filter(nodes)
            if pre.rejection is not None:
                span.code = pre.rejection.code
        if pre.rejection is not None:
            diagnosis = Diagnosis(len(nodes), pre_filter=pre.rejection, narrowed_by=pre.narrowed_by)
            return Search(nodes.only(()), diagnosis, evaluated=0)
        with self._span("Filter"):
            self._standing.filter(self._plugins, pre.skip)
            return self._find_feasible(nodes, pre)

    def _find_feasible(self, nodes: Nodes, pre: _PreFiltered) -> Search:
        nominated = self._pod.status.nominated_node_name
        if nominated:
            feasible, rejections = self._filter(nodes.only({nominated}), pre.skip)
            if len(feasible):
                diagnosis = Diagnosis(len(nodes), rejections, _not_nominated(nominated))
                return Search(feasible, diagnosis, evaluated=1)
        candidates = nodes if pre.names is None else nodes.only(pre.names)
        feasible, rejections = self._filter(candidates, pre.skip)
        absent = _left_out(pre.narrowed_by)
        diagnosis = Diagnosis(len(nodes), rejections, absent, narrowed_by=pre.narrowed_by)
        return Search(feasible, diagnosis, evaluated=len(candidates))

    def _pre_filter(self, nodes: Nodes) -> _PreFiltered:
        result = _PreFiltered()
        for each in self._plugins.pre_filter:
            if each.name in self._plugins.local:
                answer = self._standing.pre_filter(each, nodes)
            else:
                answer = ask(each.name, "pre_filter", each.plugin.pre_filter, self._pod, nodes)
            if isinstance(answer, frozenset):
                self._evaluations[each.name, "PreFilter"] += 1
                result.narrowed_by |= {each.name}
                result.names = answer if result.names is None else result.names & answer
                if not result.names:
                    result.rejection = _nothing_left(result.narrowed_by)
                    return result
                continue
            status = checked_status(each.name, "pre_filter", answer)
            if status.code is Code.SKIP:
                result.skip.add(each.name)
                continue
            self._evaluations[each.name, "PreFilter"] += 1
            if not status.is_success:
                result.rejection = status
                # Only after Unschedulable can another plugin's answer still matter, to preemption.
                if status.code is not Code.UNSCHEDULABLE:
                    return result
        return result

    def _filter(self, nodes: Nodes, skip: Set[str]) -> tuple[Nodes, tuple[Rejection, ...]]:
        rejections = []
        for each in self._plugins.filter:
            if not len(nodes):
                break
            if each.name in skip:
                continue
            self._evaluations[each.name, "Filter"] += len(nodes)
            found = self._rejections(each, nodes)
            if found is not None:
                bits, reasons = found
                rejected = bits != 0
                if np.count_nonzero(rejected):
                    rejections.append(Rejection(each.name, nodes.rows, bits, reasons))
                    nodes = nodes.narrow(~rejected)
        return nodes, tuple(rejections)

    def _rejections(
        self, each: Enabled[FilterPlugin], nodes: Nodes
    ) -> tuple[Bits, tuple[Reason, ...]] | None:
        if each.name in self._plugins.local:
            return self._standing.rejections(each.name, nodes)
        answer = ask(each.name, "filter", each.plugin.filter, self._pod, nodes)
        reasons = ask(each.name, "filter", attrgetter("reasons"), each.plugin)
        bits = checked_bits(each.name, answer, reasons, len(nodes))
        return None if bits is None else (bits, reasons)

    def _no_fit(self, nodes: Nodes, diagnosis: Diagnosis) -> FitError:
        error = FitError(self._pod, diagnosis)
        # Who takes a record only wants to know, and these plugins act: they evict.
        if not self._plugins.post_filter or self._record is not None:
            return error
        reasons: list[str] = []
        with self._span("PostFilter") as span:
            for each in self._plugins.post_filter:
                answer = ask(each.name, "post_filter", each.plugin.post_filter, self._pod, nodes, diagnosis)
                if isinstance(answer, Nomination):
                    return replace(error, post_filter_message=answer.message, nominated_node=answer.node_name)
                status = checked_status(each.name, "post_filter", answer)
                if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    span.code = status.code
                    return replace(error, post_filter_message=status.message)
                reasons += status.reasons
            span.code = Code.UNSCHEDULABLE
        return replace(error, post_filter_message=", ".join(reasons))

    def _rank(self, feasible: Nodes) -> Scores:
        try:
            return self.scores(feasible)
        except PluginError as error:
            if self._record is not None:
                self._record.ranking_fault = error
            raise

    def scores(self, nodes: Nodes) -> Scores:
        """Return the weighted scores of these feasible nodes, added up; raises PluginError."""
        with self._span("PreScore"):
            skip = self._pre_score(nodes)
        with self._span("Score"):
            return self._add_up(nodes, skip)

    def _add_up(self, nodes: Nodes, skip: Set[str]) -> Scores:
        plugins, standing = self._plugins, self._standing
        standing.score(plugins, skip)
        total = standing.total(nodes)
        for each in plugins.score:
            name = each.name
            if name in skip:
                continue
            self._evaluations[name, "Score"] += len(nodes)
            is_local, is_normalized = name in plugins.local, name in plugins.normalize
            is_in_total = is_local and not is_normalized
            # What all nodes have alike makes no difference, and is of interest to the record alone.
            if self._record is None and (is_in_total or (is_local and standing.are_alike(name))):
                continue
            scores = self._scores(each, nodes)
            weighted = scores if each.weight == 1 else each.weight * scores
            if not is_in_total:
                total = total + weighted
            if self._record is not None:
                self._record.scores[name] = weighted
        if self._record is not None:
            self._record.total = total
        return total

    def _pre_score(self, nodes: Nodes) -> set[str]:
        skip = set()
        for each in self._plugins.pre_score:
            if each.name in self._plugins.local:
                status = self._standing.pre_score(each, nodes)
            else:
                answer = ask(each.name, "pre_score", each.plugin.pre_score, self._pod, nodes)
                status = checked_status(each.name, "pre_score", answer)
            if status.code is Code.SKIP:
                skip.add(each.name)
            else:
                self._evaluations[each.name, "PreScore"] += 1
        return skip

    def _scores(self, each: Enabled[ScorePlugin], nodes: Nodes) -> Scores:
        is_local = each.name in self._plugins.local
        normalizing = self._plugins.normalize.get(each.name)
        if is_local:
            answer = self._standing.scores(each.name, nodes)
        else:
            answer = ask(each.name, "score", each.plugin.score, self._pod, nodes)
        if normalizing is None:
            return answer if is_local else checked_scores(each.name, "score", answer, nodes)
        # A copy, which the plugin may write to: what it stands for is needed again.
        raw = answer.copy() if is_local else checked_numbers(each.name, "score", answer, nodes)
        answer = ask(each.name, "normalize_score", normalizing.normalize_score, self._pod, raw)
        return checked_scores(each.name, "normalize_score", answer, nodes)


def _not_nominated(nominated: str) -> Status:
    return Status(Code.UNSCHEDULABLE, (f"not looked at, as the pod is nominated for {nominated}",))


def _left_out(narrowed_by: frozenset[str]) -> Status:
    if not narrowed_by:
        return SUCCESS
    reason = f"node(s) didn't satisfy plugin(s) {_as_go(narrowed_by)}"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))


def _nothing_left(narrowed_by: frozenset[str]) -> Status:
    if len(narrowed_by) == 1:
        reason = f"node(s) didn't satisfy plugin {next(iter(narrowed_by))}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) {_as_go(narrowed_by)} simultaneously"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))


def _as_go(names: frozenset[str]) -> str:
    # As Go prints a list of strings: [A B].
    return f"[{' '.join(sorted(names))}]"
