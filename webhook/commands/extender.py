"""`custom-scheduler extender`: a profile's filters and scores for the cluster's own kube-scheduler."""

from __future__ import annotations

import random
import time
from functools import partial

from webhook.errors import ConfigurationError
from webhook.extender.service import ExtenderService
from webhook.extender.unasked_points import tell_of_unasked_points
from webhook.kube.clock import boot_time
from webhook.kube.config import connect
from webhook.observe.exposition import forget_worker
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import (
    PluginRef,
    PluginsConfig,
    PluginSetConfig,
    Profile,
    SchedulerConfiguration,
    load_configuration,
)
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.time_budget import TimeBudget
from webhook.scheduling.timing import Timing
from webhook.server.certificates import FileCertificates
from webhook.serving.application import serve
from webhook.serving.options import ServingOptions
from webhook.settings import ExtenderSettings

__all__ = ["run"]

# What kube-scheduler's own plugins don't do; PrioritySort is there because a profile must have one such plugin.
_OURS_ALONE = Profile(
    plugins=PluginsConfig(
        multi_point=PluginSetConfig(
            enabled=(PluginRef(name="PrioritySort"), PluginRef(name="MemoryUsage")),
            disabled=(PluginRef(name="*"),),
        )
    )
)


def run(settings: ExtenderSettings) -> int:
    """Serve until SIGTERM and return the exit code; raises CustomSchedulerError for what can't be started."""
    configuration = (
        load_configuration(settings.scheduler_config)
        if settings.scheduler_config
        else SchedulerConfiguration(profiles=(_OURS_ALONE,))
    )
    profile = _chosen(configuration, settings.profile)
    registry = load_plugins(configuration.plugin_sources)
    certificates = partial(
        FileCertificates,
        settings.tls_cert,
        settings.tls_key,
        client_ca=settings.client_ca,
        tls_min_version=settings.tls_min_version,
    )
    # Faults are told before any fork.
    certificates()
    framework = build_framework(profile, registry, Cache(), random.Random())  # noqa: S311 (draws nothing)
    connect(settings.kubeconfig).close()
    tell_of_unasked_points(framework.plugins)
    framework.close()

    def make_service() -> ExtenderService:
        cache = Cache(clock=boot_time)
        rng = random.Random()  # noqa: S311 (draws one of several best nodes)
        timing = Timing(time.perf_counter, TimeBudget().report)
        return ExtenderService(
            connect(settings.kubeconfig),
            cache=cache,
            framework=build_framework(profile, registry, cache, rng, timing),
            certificates=certificates(),
            clock=boot_time,
            rng=rng,
            best_score=settings.best_score,
        )

    return serve(
        ServingOptions.of(settings, component="extender"), make_service, on_worker_exit=forget_worker
    )


def _chosen(configuration: SchedulerConfiguration, name: str | None) -> Profile:
    if name is None:
        return configuration.profiles[0]
    for profile in configuration.profiles:
        if profile.scheduler_name == name:
            return profile
    known = ", ".join(profile.scheduler_name for profile in configuration.profiles)
    raise ConfigurationError(f"--profile {name}: no such profile; the configuration has {known}")
