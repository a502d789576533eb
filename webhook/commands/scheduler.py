"""The scheduler as `serve` and `binder` both build it: configuration, plugins, one framework a profile."""

from __future__ import annotations

import random
import socket
import time
import uuid
from pathlib import Path

from webhook.binder.service import BinderService
from webhook.kube.clock import boot_time
from webhook.kube.config import connect
from webhook.observe.scheduling_metrics import observe_plugin
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import SchedulerConfiguration, load_configuration
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_frameworks
from webhook.scheduling.timing import Timing

__all__ = ["Scheduler"]


class Scheduler:
    """A scheduler that can be built; the constructor finds what is wrong with its configuration and plugins.

    Raises ConfigurationError.
    """

    def __init__(self, *, scheduler_config: Path | None, kubeconfig: Path | None, namespace: str) -> None:
        configuration = load_configuration(scheduler_config) if scheduler_config else SchedulerConfiguration()
        self.names = [profile.scheduler_name for profile in configuration.profiles]
        self.plugin_sources = configuration.plugin_sources
        self._profiles = configuration.profiles
        self._registry = load_plugins(configuration.plugin_sources)
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        # Arguments of plugins are checked as the plugins are made, and a kubeconfig as it is loaded.
        build_frameworks(self._profiles, self._registry, Cache(), random.Random())  # noqa: S311 (draws nothing)
        connect(kubeconfig).close()

    def build(self) -> BinderService:
        """Return the service with connections and a cache of its own; call it after any fork."""
        cache = Cache(clock=boot_time)
        rng = random.Random()  # noqa: S311 (breaks ties between equal nodes)
        timing = Timing(time.perf_counter, observe_plugin)
        return BinderService(
            connect(self._kubeconfig),
            cache=cache,
            frameworks=build_frameworks(self._profiles, self._registry, cache, rng, timing),
            namespace=self._namespace,
            # A container that restarts keeps its pod's name, so the name alone would be the old leader's too.
            identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        )
