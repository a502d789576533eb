"""One profile at work: runs its plugins over the nodes and decides where a pod goes.

Order and meaning of the extension points are kube-scheduler's (pkg/scheduler/schedule_one.go).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count

from webhook.scheduling.cache import Cache
from webhook.scheduling.containment import PluginError, ask, ask_status, checked_key, first_refusal
from webhook.scheduling.made import close_plugins
from webhook.scheduling.measurements import Measurements
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import UNSUPPORTED, Decision, PluginFailure, Unsupported
from webhook.scheduling.plugin import MAX_NODE_SCORE, Scores
from webhook.scheduling.plugin_set import PluginSet
from webhook.scheduling.queueing_hints import QueueingHints
from webhook.scheduling.record import Record
from webhook.scheduling.scheduling_cycle import SchedulingCycle, Search
from webhook.scheduling.side_faults import SideFaults
from webhook.scheduling.standings import Standings
from webhook.scheduling.status import SKIP, SUCCESS, Code, Status
from webhook.scheduling.timing import ONE_IN, Timing, timed
from webhook.scheduling.unsupported import UNSUPPORTED_EVENTS, unsupported_fields
from webhook.scheduling.waiting_pods import MAX_WAIT_SECONDS

__all__ = ["Framework"]


class Framework:
    """Decides for the pods of one `schedulerName`. The owner of the cache calls it, on one thread.

    With `timing`, one in ten decisions, and of the steps that follow them, is timed plugin by plugin, and all are by
    extension point in `measurements`. `side_faults` tells of what plugins do wrong where no attempt fails by it.
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
        self._untimed = plugins
        self._timed = None if timing is None else timed(plugins, timing)
        self._turns: defaultdict[str, Iterator[int]] = defaultdict(count)
        self._cache = cache
        self.side_faults = SideFaults()
        self.queueing_hints = QueueingHints(
            {**plugins.events, UNSUPPORTED: UNSUPPORTED_EVENTS}, self.side_faults
        )
        self.measurements = Measurements(None if timing is None else timing.clock)
        self._standings = Standings(cache.table, plugins)
        self._rng = rng

    def pre_enqueue(self, pod: Pod) -> Status:
        """Tell whether the pod may enter the queue; the first plugin that says no is named in the status."""
        methods = ((each.name, each.plugin.pre_enqueue) for each in self._turn("pre_enqueue").pre_enqueue)
        return first_refusal("pre_enqueue", methods, pod)

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return the pod's place in the queue; smallest first. In order of time if the plugin fails."""
        each = self._untimed.queue_sort
        try:
            return self.side_faults.ask(
                each.name, "sort_key", checked_key, each.plugin.sort_key, pod, queued_at
            )
        except PluginError:
            return (0.0, queued_at)

    def schedule(self, pod: Pod, record: Record | None = None) -> Decision:
        """Choose a node for the pod, or say why none will do. What a plugin does wrong never raises.

        `record` takes what was said of each node on the way; with it, a node without rivals is scored too, and PostFilter
        plugins, which act, aren't asked.
        """
        fields = unsupported_fields(pod, self._cache.storage)
        if fields:
            return Unsupported(pod, fields)
        try:
            return self._cycle(pod, record).run(Nodes(self._cache.table), self._rng)
        except PluginError as error:
            return PluginFailure(pod, error.plugin, str(error))

    def search(self, pod: Pod, nodes: Nodes) -> Search:
        """Return which of these nodes can run the pod, and why the others can't; raises PluginError.

        For whoever makes the rest of the decision; so whether we could honor all of the pod isn't asked.
        """
        return self._cycle(pod).search(nodes)

    def scores(self, pod: Pod, nodes: Nodes, record: Record | None = None) -> Scores:
        """Return the weighted scores of these nodes, added up, at most `highest_score`; raises PluginError."""
        return self._cycle(pod, record).scores(nodes)

    @property
    def plugins(self) -> PluginSet:
        """The plugins at each extension point."""
        return self._untimed

    def plugins_unlike(self, other: Framework) -> frozenset[str]:
        """Return the names under which this and the other framework have not the same plugin."""
        ours, theirs = self.plugins.made, other.plugins.made
        return frozenset(
            name
            for name in ours.keys() | theirs.keys()
            if name not in ours or name not in theirs or ours[name].plugin is not theirs[name].plugin
        )

    def close(self) -> None:
        """Close all plugins; nothing may be asked of them any more."""
        close_plugins(self.plugins.made.values())

    @property
    def highest_score(self) -> int:
        """What a node comes to that all plugins like best."""
        return MAX_NODE_SCORE * sum(each.weight for each in self._untimed.score)

    def reserve(self, pod: Pod, node_name: str) -> Status:
        """Tell the plugins that the pod is about to go there; takes it back from all if one refuses."""
        methods = ((each.name, each.plugin.reserve) for each in self._turn("reserve").reserve)
        with self.measurements.span("Reserve") as span:
            status = first_refusal("reserve", methods, pod, node_name)
            span.code = status.code
        if not status.is_success:
            self.unreserve(pod, node_name)
        return status

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """Take back `reserve`, in reverse order. If a plugin raises, the others still hear of it."""
        with self.measurements.span("Unreserve"):
            for each in reversed(self._turn("unreserve").reserve):
                with suppress(PluginError):
                    self.side_faults.ask(
                        each.name, "unreserve", _whatever, each.plugin.unreserve, pod, node_name
                    )

    def permit(self, pod: Pod, node_name: str) -> tuple[Status, Mapping[str, float]]:
        """Return the plugins' last word before binding; with Wait, also the seconds that each waits at most."""
        waits: dict[str, float] = {}
        with self.measurements.span("Permit") as span:
            for each in self._turn("permit").permit:
                status = ask_status(each.name, "permit", each.plugin.permit, pod, node_name)
                if status.code is Code.WAIT:
                    waits[each.name] = min(status.timeout, MAX_WAIT_SECONDS)
                elif not status.is_success:
                    span.code = status.code
                    return status, {}
            span.code = Code.WAIT if waits else Code.SUCCESS
        return (Status(Code.WAIT) if waits else SUCCESS), waits

    def pre_bind(self, pod: Pod, node_name: str) -> Status:
        """Let the plugins prepare the binding. May be called on any thread."""
        methods = ((each.name, each.plugin.pre_bind) for each in self._turn("pre_bind").pre_bind)
        with self.measurements.span("PreBind") as span:
            status = first_refusal("pre_bind", methods, pod, node_name)
            span.code = status.code
        return status

    def bind(self, pod: Pod, node_name: str) -> Status:
        """Let a plugin bind the pod; Skip when none did. May be called on any thread."""
        for each in self._turn("bind").bind:
            status = ask_status(each.name, "bind", each.plugin.bind, pod, node_name)
            if status.code is not Code.SKIP:
                return status
        return SKIP

    def post_bind(self, pod: Pod, node_name: str) -> tuple[Status, ...]:
        """Tell the plugins that the pod is bound, and return what went wrong. May be called on any thread."""
        faults = []
        with self.measurements.span("PostBind"):
            for each in self._turn("post_bind").post_bind:
                try:
                    ask(each.name, "post_bind", each.plugin.post_bind, pod, node_name)
                except PluginError as error:
                    faults.append(error.status)
        return tuple(faults)

    def _cycle(self, pod: Pod, record: Record | None = None) -> SchedulingCycle:
        return SchedulingCycle(
            pod, self._turn("schedule"), self._standings.of(pod), record, self.measurements
        )

    def _turn(self, step: str) -> PluginSet:
        """The plugins for one more of these steps, which may be on any thread."""
        if self._timed is None or next(self._turns[step]) % ONE_IN:
            return self._untimed
        return self._timed


def _whatever(_plugin: str, answer: object) -> object:
    """Nothing comes of what such a method returns."""
    return answer
