"""One profile at work: runs its plugins over the nodes and decides where a pod goes.

Order and meaning of the extension points are kube-scheduler's (pkg/scheduler/schedule_one.go). A node
answers with the first filter that rejects it. Of several nodes with the highest total, one is drawn at
random, so that equal nodes fill evenly.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter

import numpy as np

from webhook.scheduling.cache import Cache
from webhook.scheduling.containment import (
    PluginError,
    ask,
    ask_status,
    checked_bits,
    checked_key,
    checked_numbers,
    checked_scores,
    checked_status,
    first_refusal,
)
from webhook.scheduling.events import ClusterEvent
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import (
    UNSUPPORTED,
    Decision,
    Diagnosis,
    FitError,
    Placement,
    PluginFailure,
    Rejection,
    Unsupported,
)
from webhook.scheduling.plugin import Nomination, ScorePlugin, Scores
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.record import Record
from webhook.scheduling.status import SKIP, SUCCESS, Code, Status
from webhook.scheduling.timing import ONE_IN, Timing, timed
from webhook.scheduling.unsupported import UNSUPPORTED_EVENTS, unsupported_fields

__all__ = ["Framework"]


@dataclass(slots=True)
class _PreFiltered:
    """What the PreFilter plugins left over: filters to skip, node names to look at, or a rejection."""

    skip: set[str]
    names: frozenset[str] | None = None
    narrowed_by: frozenset[str] = frozenset()
    rejection: Status | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    """The feasible nodes, and why each of the others isn't."""

    feasible: Nodes
    diagnosis: Diagnosis
    evaluated: int


class Framework:
    """Decides for the pods of one `schedulerName`. The owner of the cache calls it, on one thread.

    With `timing`, one in ten decisions, and of the steps that follow them, is timed plugin by plugin.
    """

    def __init__(
        self,
        scheduler_name: str,
        plugins: PluginSet,
        cache: Cache,
        rng: random.Random,
        timing: Timing | None = None,
    ) -> None:
        self.scheduler_name = scheduler_name
        # Those of the decision under way.
        self._plugins = plugins
        self._untimed = plugins
        self._timed = None if timing is None else timed(plugins, timing)
        self._turns: defaultdict[str, Iterator[int]] = defaultdict(count)
        self._cache = cache
        self._rng = rng

    def pre_enqueue(self, pod: Pod) -> Status:
        """Tell whether the pod may enter the queue; the first plugin that says no is named in the status."""
        methods = ((each.name, each.plugin.pre_enqueue) for each in self._turn("pre_enqueue").pre_enqueue)
        return first_refusal("pre_enqueue", methods, pod)

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return the pod's place in the queue; smallest first. In order of time if the plugin fails, which is logged."""
        each = self._untimed.queue_sort
        try:
            return checked_key(each.name, ask(each.name, "sort_key", each.plugin.sort_key, pod, queued_at))
        except PluginError:
            return (0.0, queued_at)

    def is_woken_by(self, rejected_by: frozenset[str], event: ClusterEvent) -> bool:
        """Tell whether the event can make a pod schedulable that these plugins rejected; no names, any event."""
        return not rejected_by or any(self._waits_for(name, event) for name in rejected_by)

    def schedule(self, pod: Pod, record: Record | None = None) -> Decision:
        """Choose a node for the pod, or say why none will do. What a plugin does wrong never raises.

        `record` takes what was said of each node on the way; with it, a node without rivals is scored too.
        """
        self._plugins = self._turn("schedule")
        fields = unsupported_fields(pod, self._cache.storage)
        if fields:
            return Unsupported(pod, fields)
        try:
            return self._schedule(pod, record)
        except PluginError as error:
            return PluginFailure(pod, error.plugin, str(error))

    def reserve(self, pod: Pod, node_name: str) -> Status:
        """Tell the plugins that the pod is about to go there; takes it back from all if one refuses."""
        methods = ((each.name, each.plugin.reserve) for each in self._turn("reserve").reserve)
        status = first_refusal("reserve", methods, pod, node_name)
        if not status.is_success:
            self.unreserve(pod, node_name)
        return status

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """Take back `reserve`, in reverse order. A plugin that raises is logged; the others still hear of it."""
        for each in reversed(self._turn("unreserve").reserve):
            with suppress(PluginError):
                ask(each.name, "unreserve", each.plugin.unreserve, pod, node_name)

    def permit(self, pod: Pod, node_name: str) -> Status:
        """Return the plugins' last word before binding."""
        methods = ((each.name, each.plugin.permit) for each in self._turn("permit").permit)
        return first_refusal("permit", methods, pod, node_name)

    def pre_bind(self, pod: Pod, node_name: str) -> Status:
        """Let the plugins prepare the binding. May be called on any thread."""
        methods = ((each.name, each.plugin.pre_bind) for each in self._turn("pre_bind").pre_bind)
        return first_refusal("pre_bind", methods, pod, node_name)

    def bind(self, pod: Pod, node_name: str) -> Status:
        """Let a plugin bind the pod; Skip when none did. May be called on any thread."""
        for each in self._turn("bind").bind:
            status = ask_status(each.name, "bind", each.plugin.bind, pod, node_name)
            if status.code is not Code.SKIP:
                return status
        return SKIP

    def post_bind(self, pod: Pod, node_name: str) -> None:
        """Tell the plugins that the pod is bound. May be called on any thread."""
        for each in self._turn("post_bind").post_bind:
            with suppress(PluginError):
                ask(each.name, "post_bind", each.plugin.post_bind, pod, node_name)

    def _turn(self, step: str) -> PluginSet:
        """The plugins for one more of these steps, which may be on any thread."""
        if self._timed is None or next(self._turns[step]) % ONE_IN:
            return self._untimed
        return self._timed

    def _schedule(self, pod: Pod, record: Record | None) -> Decision:
        nodes = Nodes(self._cache.table)
        if not len(nodes):
            return FitError(pod, Diagnosis(all_nodes=0))
        search = self._search(pod, nodes)
        if record is not None:
            record.diagnosis, record.feasible = search.diagnosis, search.feasible.rows
        feasible = search.feasible
        if not len(feasible):
            return self._no_fit(pod, nodes, search.diagnosis)
        position = 0
        if len(feasible) > 1:
            position = self._best(pod, feasible, record)
        elif record is not None:
            # Without rivals it is chosen whatever its scores, so a plugin that can't give one does no harm.
            with suppress(PluginError):
                self._total_scores(pod, feasible, record)
        return _placement(pod, feasible, position, evaluated=search.evaluated)

    def _search(self, pod: Pod, nodes: Nodes) -> _Search:
        pre = self._pre_filter(pod, nodes)
        if pre.rejection is not None:
            diagnosis = Diagnosis(len(nodes), pre_filter=pre.rejection, narrowed_by=pre.narrowed_by)
            return _Search(nodes.only(()), diagnosis, evaluated=0)
        nominated = pod.status.nominated_node_name
        if nominated:
            feasible, rejections = self._filter(pod, nodes.only({nominated}), pre.skip)
            if len(feasible):
                diagnosis = Diagnosis(len(nodes), rejections, _not_nominated(nominated))
                return _Search(feasible, diagnosis, evaluated=1)
        candidates = nodes if pre.names is None else nodes.only(pre.names)
        feasible, rejections = self._filter(pod, candidates, pre.skip)
        absent = _left_out(pre.narrowed_by)
        diagnosis = Diagnosis(len(nodes), rejections, absent, narrowed_by=pre.narrowed_by)
        return _Search(feasible, diagnosis, evaluated=len(candidates))

    def _pre_filter(self, pod: Pod, nodes: Nodes) -> _PreFiltered:
        result = _PreFiltered(skip=set())
        for each in self._plugins.pre_filter:
            answer = ask(each.name, "pre_filter", each.plugin.pre_filter, pod, nodes)
            if isinstance(answer, frozenset):
                result.narrowed_by |= {each.name}
                result.names = answer if result.names is None else result.names & answer
                if not result.names:
                    result.rejection = _nothing_left(result.narrowed_by)
                    return result
                continue
            status = checked_status(each.name, "pre_filter", answer)
            if status.code is Code.SKIP:
                result.skip.add(each.name)
            elif not status.is_success:
                result.rejection = status
                # Only after Unschedulable can another plugin's answer still matter, to preemption.
                if status.code is not Code.UNSCHEDULABLE:
                    return result
        return result

    def _filter(self, pod: Pod, nodes: Nodes, skip: set[str]) -> tuple[Nodes, tuple[Rejection, ...]]:
        rejections = []
        for each in self._plugins.filter:
            if not len(nodes):
                break
            if each.name in skip:
                continue
            answer = ask(each.name, "filter", each.plugin.filter, pod, nodes)
            reasons = ask(each.name, "filter", attrgetter("reasons"), each.plugin)
            bits = checked_bits(each.name, answer, reasons, len(nodes))
            if bits is not None:
                rejected = bits != 0
                rejections.append(Rejection(each.name, nodes.rows[rejected], bits[rejected], reasons))
                nodes = nodes.narrow(~rejected)
        return nodes, tuple(rejections)

    def _no_fit(self, pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> FitError:
        error = FitError(pod, diagnosis)
        for each in self._plugins.post_filter:
            answer = ask(each.name, "post_filter", each.plugin.post_filter, pod, nodes, diagnosis)
            if isinstance(answer, Nomination):
                return replace(error, post_filter_message=answer.message, nominated_node=answer.node_name)
            status = checked_status(each.name, "post_filter", answer)
            error = replace(error, post_filter_message=status.message)
        return error

    def _best(self, pod: Pod, nodes: Nodes, record: Record | None) -> int:
        total = self._total_scores(pod, nodes, record)
        best = np.flatnonzero(total == total.max())
        return int(best[self._rng.randrange(len(best))])

    def _total_scores(self, pod: Pod, nodes: Nodes, record: Record | None) -> Scores:
        skip = set()
        for looking in self._plugins.pre_score:
            answer = ask(looking.name, "pre_score", looking.plugin.pre_score, pod, nodes)
            if checked_status(looking.name, "pre_score", answer).code is Code.SKIP:
                skip.add(looking.name)
        total: Scores = np.zeros(len(nodes), dtype=np.int64)
        for each in self._plugins.score:
            if each.name not in skip:
                scores = self._scores(each, pod, nodes)
                weighted = scores if each.weight == 1 else each.weight * scores
                total = total + weighted
                if record is not None:
                    record.scores[each.name] = weighted
        if record is not None:
            record.total = total
        return total

    def _scores(self, each: Enabled[ScorePlugin], pod: Pod, nodes: Nodes) -> Scores:
        answer = ask(each.name, "score", each.plugin.score, pod, nodes)
        normalizing = self._plugins.normalize.get(each.name)
        if normalizing is None:
            return checked_scores(each.name, "score", answer, len(nodes))
        raw = checked_numbers(each.name, "score", answer, len(nodes))
        answer = ask(each.name, "normalize_score", normalizing.normalize_score, pod, raw)
        return checked_scores(each.name, "normalize_score", answer, len(nodes))

    def _waits_for(self, plugin: str, event: ClusterEvent) -> bool:
        if plugin == UNSUPPORTED:
            return any(each.matches(event) for each in UNSUPPORTED_EVENTS)
        events = self._untimed.events.get(plugin)
        return events is None or any(each.matches(event) for each in events)


def _placement(pod: Pod, feasible: Nodes, position: int, *, evaluated: int) -> Placement:
    node = feasible[position].node
    return Placement(pod, node.name, node.metadata.uid, evaluated, len(feasible))


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
