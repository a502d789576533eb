"""The scheduler as a whole: watches, election, the scheduling thread, and the threads that write."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping

from webhook.binder.binding import BindPool
from webhook.binder.condition import ConditionWriter
from webhook.binder.loop import SchedulingLoop
from webhook.binder.plugin_state import PluginState
from webhook.binder.plugins import Plugins
from webhook.binder.reporter import Reporter
from webhook.binder.takeover import Takeover
from webhook.binder.watches import Watches
from webhook.kube.elector import Elector, LeaseTiming
from webhook.kube.events import EventRecorder, Regarding
from webhook.kube.poller import ListPoller
from webhook.kube.transport import KubeClient
from webhook.observe.scheduling_metrics import LEADER
from webhook.periodic import PeriodicThread
from webhook.scheduling.cache import Cache
from webhook.scheduling.framework import Framework
from webhook.scheduling.kinds import NO_NODE_METRICS, NODE_METRICS_PATH, NODE_METRICS_SECONDS
from webhook.scheduling.made import Made
from webhook.scheduling.objects import NodeMetrics

__all__ = ["BinderService"]

log = logging.getLogger("custom_scheduler.binder")

LEASE = "custom-scheduler"
PLUGIN_POLL_SECONDS = 1.0


class BinderService:
    """Places the pods whose schedulerName has a framework, while this replica holds the Lease.

    `start` waits for nothing from outside: an API server that is away is asked again until it answers. Replicas
    that don't lead follow the watches too, and so can take over at once. `identity` must be this process's alone.
    `plugins`, from which the frameworks were built, is followed for changes.
    `stop` also closes `client` and `plugins`.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        cache: Cache,
        frameworks: Mapping[str, Framework],
        plugins: Plugins | None = None,
        namespace: str,
        identity: str,
        timing: LeaseTiming | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._elector = Elector(
            client,
            namespace=namespace,
            name=LEASE,
            identity=identity,
            on_started=self._lead,
            on_stopped=self._follow,
            timing=timing,
        )
        self._watches = Watches(client, lambda: self._loop)
        self._node_metrics = ListPoller(
            client,
            NODE_METRICS_PATH,
            NodeMetrics,
            lambda measurements: self._loop.measured(measurements),
            wanted=lambda: cache.memory.in_use,
            interval=NODE_METRICS_SECONDS,
            trouble=NO_NODE_METRICS,
        )
        self._recorder = EventRecorder(client, instance=identity)
        self._conditions = ConditionWriter(client)
        self._bindings = BindPool(
            client, report=lambda result: self._loop.bound(result), may_bind=self._elector.is_leader
        )
        self._loop = SchedulingLoop(
            cache=cache,
            frameworks=frameworks,
            binder=self._bindings,
            reporter=Reporter(self._recorder, self._conditions, time.monotonic),
            takeover=Takeover(self._watches.listings, time.monotonic),
            is_leader=self._elector.is_leader,
            suspect=self._suspect,
            release=self._release,
        )
        self._plugins = plugins
        self._plugin_thread = PeriodicThread("plugins", self._poll_plugins, seconds=PLUGIN_POLL_SECONDS)
        self._threads = {
            name: threading.Thread(target=target, name=name, daemon=True)
            for name, target in (
                ("scheduling", self._schedule),
                ("election", self._elector.run),
                ("node metrics", self._node_metrics.run),
            )
        }

    def start(self) -> None:
        """Begin, without waiting for anything from outside."""
        LEADER.labels(LEASE).set(0)
        self._recorder.start()
        self._conditions.start()
        self._bindings.start()
        for thread in self._threads.values():
            thread.start()
        self._watches.start()
        self._plugin_thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End: bindings under way have `timeout` seconds, then the Lease goes back and all threads are joined."""
        self._plugin_thread.stop()
        self._loop.pause()
        self._bindings.close(timeout)
        self._elector.stop()
        self._threads["election"].join()
        self._watches.stop()
        self._node_metrics.stop()
        self._loop.stop()
        for thread in self._threads.values():
            thread.join()
        if self._plugins is not None:
            self._plugins.close()
        self._conditions.close()
        self._recorder.close(timeout)
        self._client.close()

    def plugin_states(self) -> list[PluginState]:
        """Return what plugins there are; none where they aren't followed."""
        return [] if self._plugins is None else self._plugins.states()

    def not_ready(self) -> list[str]:
        """Return why no pod could be placed now if this replica led; empty if one could."""
        threads = (*self._threads.values(), *self._bindings.threads, self._plugin_thread.thread)
        reasons = [f"thread {thread.name} has died" for thread in threads if not thread.is_alive()]
        reasons += filter(None, [self._loop.stuck(), self._elector.fault])
        reasons += self._watches.not_ready()
        return reasons

    def is_leader(self) -> bool:
        """Tell whether this replica is the one that schedules."""
        return self._elector.is_leader()

    def _lead(self, old_leader_may_act: bool) -> None:  # noqa: FBT001 (the elector's one word)
        LEADER.labels(LEASE).set(1)
        self._loop.lead(old_leader_may_act)

    def _follow(self) -> None:
        LEADER.labels(LEASE).set(0)
        self._loop.follow()

    def _poll_plugins(self) -> None:
        frameworks = None if self._plugins is None else self._plugins.poll()
        if frameworks is not None:
            self._loop.replace(frameworks)

    def _suspect(self, plugin: str, why: str) -> None:
        if self._plugins is not None and self._plugins.suspend(plugin, why):
            log.error("plugin %s is to be left out until it or the configuration changes: %s", plugin, why)
            self._recorder.record(
                Regarding(
                    api_version="coordination.k8s.io/v1",
                    kind="Lease",
                    namespace=self._namespace,
                    name=LEASE,
                    uid="",
                ),
                controller="custom-scheduler",
                event_type="Warning",
                reason="PluginSuspended",
                action="Suspending",
                note=f"plugin {plugin} is to be left out until it or the configuration changes: {why}",
            )

    def _release(self, made: Collection[Made]) -> None:
        if self._plugins is not None:
            self._plugins.release(made)

    def _schedule(self) -> None:
        try:
            self._loop.run()
        finally:
            # However it ended, another replica can do what this one can't do any more.
            self._elector.stop()
