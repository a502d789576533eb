"""The scheduling thread: it alone owns the cache and the queue, so nothing in scheduling needs a lock."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from webhook.binder.binding import BindResult
from webhook.binder.binding_cycles import Binder, BindingCycles
from webhook.binder.changes import apply_node_change, apply_other_change, apply_pod_change
from webhook.binder.failures import FailureHandler
from webhook.binder.queue import SchedulingQueue
from webhook.binder.queued_pod import QueuedPod
from webhook.binder.reporter import Reporter
from webhook.binder.retirement import Retirement
from webhook.binder.suspicion import Suspicion
from webhook.binder.takeover import Listing, Takeover
from webhook.kube.informer import Change
from webhook.kube.meta import HasMetadata
from webhook.observe import node_metrics, plugin_metrics
from webhook.observe import scheduling_metrics as metrics
from webhook.scheduling.cache import Cache
from webhook.scheduling.containment import described
from webhook.scheduling.framework import Framework
from webhook.scheduling.kinds import Kind
from webhook.scheduling.made import Made
from webhook.scheduling.objects import Node, NodeMetrics, Pod
from webhook.scheduling.outcome import Placement, PluginFailure
from webhook.scheduling.queueing_hints import HINT
from webhook.scheduling.status import SUCCESS, Code, Status

__all__ = ["SchedulingLoop"]

T = TypeVar("T", bound=HasMetadata)

log = logging.getLogger("custom_scheduler.binder")

# A leader that falls leaves at most this many bindings undecided.
MAX_IN_FLIGHT = 256
IDLE_SECONDS = 5.0
SIZES_SECONDS = 1.0
# A decision takes milliseconds: one that takes so long waits in a plugin, and nobody knows for how long.
STUCK_SECONDS = 30.0


class SchedulingLoop:
    """Takes in what the other threads tell, and places one pod at a time while this replica leads.

    All public methods but `run` only put something into the inbox, and may be called from any thread.
    `is_leader` has to agree before each decision. `suspect` hears of a plugin that fails again and again, and why;
    `release` gets those that `replace` has taken out, once no pod is on its way with them.
    """

    def __init__(
        self,
        *,
        cache: Cache,
        frameworks: Mapping[str, Framework],
        binder: Binder,
        reporter: Reporter,
        takeover: Takeover,
        is_leader: Callable[[], bool],
        suspect: Callable[[str, str], None] = lambda _plugin, _why: None,
        release: Callable[[Collection[Made]], None] = lambda _made: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        # The queue has it too: what is replaced in it counts for both at once.
        self._frameworks = dict(frameworks)
        self._reporter = reporter
        self._takeover = takeover
        self._is_leader = is_leader
        self._clock = clock
        self._suspicion = Suspicion(suspect)
        self._retirement = Retirement(release)
        for framework in self._frameworks.values():
            self._listen(framework)
        self._queue = SchedulingQueue(self._frameworks, clock, self._take_admission)
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._failures = FailureHandler(self._queue, reporter)
        self._cycles = BindingCycles(
            cache=cache,
            queue=self._queue,
            binder=binder,
            reporter=reporter,
            failures=self._failures,
            judge=self._judge,
            clock=clock,
            tell=self._inbox.put,
        )
        self._paused = False
        self._stopped = False
        self._sizes_due = 0.0
        self._under_way: tuple[Pod, float] | None = None

    def pod_changed(self, change: Change[Pod]) -> None:
        """Take in what a watch told of a pod."""
        self._inbox.put(partial(self._take_pod, change))

    def node_changed(self, change: Change[Node]) -> None:
        """Take in what a watch told of a node."""
        self._inbox.put(partial(self._take_node, change))

    def other_changed(self, kind: Kind[T], change: Change[T]) -> None:
        """Take in what a watch told of an object of another kind."""
        self._inbox.put(partial(apply_other_change, kind, change, self._cache, self._queue))

    def measured(self, measurements: Sequence[NodeMetrics]) -> None:
        """Take in what metrics.k8s.io told of the nodes."""
        self._inbox.put(partial(self._take_measurements, measurements))

    def replace(self, frameworks: Mapping[str, Framework]) -> None:
        """Decide by these frameworks, for the same profiles, from the next pod on."""
        self._inbox.put(partial(self._replace, frameworks))

    def listed(self, listing: Listing) -> None:
        """Take in that all changes found by a list have been told."""
        self._inbox.put(partial(self._takeover.listed, listing))

    def lead(self, old_leader_may_act: bool) -> None:  # noqa: FBT001 (the elector's one word)
        """Begin to lead: this replica has become the leader."""
        self._inbox.put(partial(self._takeover.begin, old_leader_may_act=old_leader_may_act))

    def follow(self) -> None:
        """Cease to lead: this replica is not the leader any more."""
        self._inbox.put(self._follow)

    def bound(self, result: BindResult) -> None:
        """Take in how a binding has ended."""
        self._inbox.put(partial(self._cycles.take_result, result))

    def pause(self) -> None:
        """Decide nothing more, but go on taking in what is told."""
        self._inbox.put(self._pause)

    def stop(self) -> None:
        """Make `run` return once it has taken in what was told so far."""
        self._inbox.put(self._stop)

    def stuck(self) -> str:
        """Return which decision has been under way for too long, or nothing; from any thread."""
        under_way = self._under_way
        if under_way is None:
            return ""
        pod, since = under_way
        seconds = self._clock() - since
        return f"deciding on {pod.key} for {seconds:.0f} s" if seconds > STUCK_SECONDS else ""

    def run(self) -> None:
        """Work until `stop`."""
        while True:
            for _ in range(self._inbox.qsize()):
                self._take(self._inbox.get())
            if self._stopped:
                return
            self._retirement.settle(self._in_use)
            self._queue.flush()
            self._cache.waiting_pods.expire(self._clock())
            takeover_due = self._takeover.step()
            self._report_sizes()
            if not (self._may_decide() and self._decide_next()):
                self._idle(takeover_due)

    def _idle(self, takeover_due: float | None) -> None:
        """Wait for word, or until a backoff or a pod's wait ends or a takeover goes on."""
        expiry = self._cache.waiting_pods.next_expiry()
        dues = [due for due in (self._queue.next_flush(), expiry, takeover_due) if due is not None]
        patience = min([IDLE_SECONDS, *(max(0.0, due - self._clock()) for due in dues)])
        try:
            self._take(self._inbox.get(timeout=patience))
        except Empty:
            return

    def _take(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            # A fault of ours or of a plugin: one message is lost, but not the thread that all pods depend on.
            log.exception("a change could not be taken in")

    def _may_decide(self) -> bool:
        return (
            self._takeover.is_over
            and not self._paused
            and self._cycles.in_flight < MAX_IN_FLIGHT
            and self._is_leader()
        )

    def _decide_next(self) -> bool:
        queued = self._queue.pop()
        if queued is None:
            return False
        started_at = self._clock()
        self._under_way = queued.pod, started_at
        try:
            self._decide(queued, started_at)
        except BaseException as error:
            log.exception("scheduling %s failed unexpectedly", queued.pod.key)
            self._cache.forget(queued.pod)
            self._failures.broken(queued, described(error), started_at)
        self._under_way = None
        return True

    def _decide(self, queued: QueuedPod, started_at: float) -> None:
        pod = queued.pod
        framework = self._frameworks[pod.spec.scheduler_name]
        decision = framework.schedule(pod)
        metrics.ALGORITHM_DURATION.observe(self._clock() - started_at)
        self._judge(
            framework, "schedule", decision.status if isinstance(decision, PluginFailure) else SUCCESS
        )
        match decision:
            case Placement():
                self._cycles.begin(queued, decision, framework, started_at)
            case PluginFailure():
                self._failures.broken(queued, decision.message, started_at)
            case _:
                self._failures.no_node(queued, decision, started_at)

    def _judge(self, framework: Framework, step: str, *answers: Status) -> None:
        """Count what plugins have done wrong; those that were replaced meanwhile are under no suspicion."""
        faults = [each for each in answers if each.code is Code.ERROR and each.plugin]
        for fault in faults:
            plugin_metrics.FAILURES.labels(fault.plugin).inc()
        profile = framework.scheduler_name
        if self._frameworks[profile] is framework:
            self._suspicion.judge(profile, step, faults)

    def _listen(self, framework: Framework) -> None:
        framework.side_faults.listener = partial(self._judge_aside, framework)

    def _judge_aside(self, framework: Framework, plugin: str, point: str, status: Status) -> None:
        """Take in a plugin's fault by which no attempt has failed, or that it is well again; the leader alone tells it."""
        if not self._is_leader():
            return
        if point == HINT:
            # Pods are tried for nothing; to leave the plugin out would have them placed where it says no.
            if status.code is Code.ERROR:
                plugin_metrics.FAILURES.labels(plugin).inc()
        else:
            self._judge(framework, f"{point} of {plugin}", status)

    def _take_admission(self, queued: QueuedPod, status: Status) -> None:
        """Take in what the plugins said of a pod that came to the queue; the leader alone tells it."""
        if not self._is_leader():
            return
        self._judge(self._frameworks[queued.pod.spec.scheduler_name], "pre_enqueue", status)
        if status.code is Code.ERROR:
            self._failures.not_admitted(queued, status, self._clock())

    def _take_pod(self, change: Change[Pod]) -> None:
        apply_pod_change(change, self._cache, self._queue, self._frameworks)
        self._cycles.pod_changed(change)

    def _take_node(self, change: Change[Node]) -> None:
        apply_node_change(change, self._cache, self._queue)
        self._cycles.node_changed(change)

    def _replace(self, frameworks: Mapping[str, Framework]) -> None:
        changed = {
            name: framework.plugins_unlike(self._frameworks[name]) for name, framework in frameworks.items()
        }
        self._retirement.replaced(self._frameworks, {**self._frameworks, **frameworks})
        self._frameworks.update(frameworks)
        for framework in frameworks.values():
            self._listen(framework)
        self._cycles.give_up_waiting_for(changed)
        self._queue.reconsider(frameworks)

    def _in_use(self) -> Iterable[Framework]:
        return (*self._frameworks.values(), *self._cycles.frameworks())

    def _take_measurements(self, measurements: Sequence[NodeMetrics]) -> None:
        self._cache.memory.measure(measurements)
        node_metrics.AGE.set(self._cache.memory.age())

    def _report_sizes(self) -> None:
        now = self._clock()
        if now >= self._sizes_due:
            self._sizes_due = now + SIZES_SECONDS
            # Who doesn't lead follows the same pods, but they don't wait for it.
            self._reporter.sizes(self._queue if self._is_leader() else None, self._cache)
            for profile, framework in self._frameworks.items():
                self._reporter.measured(profile, framework.measurements)

    def _follow(self) -> None:
        self._takeover.end()
        self._cycles.give_up_waiting()

    def _pause(self) -> None:
        self._paused = True
        self._cycles.give_up_waiting()

    def _stop(self) -> None:
        self._stopped = True
