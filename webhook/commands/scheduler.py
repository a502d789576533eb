"""The scheduler as `serve` and `binder` both build it: configuration, plugins, one framework a profile."""

from __future__ import annotations

import random
import socket
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from webhook.binder.plugins import Plugins
from webhook.binder.service import BinderService
from webhook.kube.clock import boot_time
from webhook.kube.config import connect
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginSource
from webhook.scheduling.time_budget import TimeBudget
from webhook.scheduling.timing import Timing

__all__ = ["Scheduler"]


class Scheduler:
    """A scheduler that can be built; the constructor finds what is wrong with its configuration and plugins.

    Raises ConfigurationError.
    """

    def __init__(self, *, scheduler_config: Path | None, kubeconfig: Path | None, namespace: str) -> None:
        self._plugins = Plugins(scheduler_config)
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        # Arguments of plugins are checked as the plugins are made, and a kubeconfig as it is loaded.
        self._plugins.check()
        connect(kubeconfig).close()

    @property
    def names(self) -> list[str]:
        """The profiles' schedulerNames."""
        return [profile.scheduler_name for profile in self._plugins.configuration.profiles]

    @property
    def plugin_sources(self) -> Sequence[PluginSource]:
        """Where plugins come from that aren't built in."""
        return self._plugins.configuration.plugin_sources

    def build(self) -> BinderService:
        """Return the service with connections and a cache of its own; call it after any fork."""
        cache = Cache(clock=boot_time)
        rng = random.Random()  # noqa: S311 (breaks ties between equal nodes)
        timing = Timing(time.perf_counter, TimeBudget().report)
        return BinderService(
            connect(self._kubeconfig),
            cache=cache,
            frameworks=self._plugins.build(cache, rng, timing),
            plugins=self._plugins,
            namespace=self._namespace,
            # A container that restarts keeps its pod's name, so the name alone would be the old leader's too.
            identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        )
