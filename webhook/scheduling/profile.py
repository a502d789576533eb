"""From a profile of the configuration to a framework with its plugins made and put in order.

Which plugins run where follows KubeSchedulerConfiguration (framework/runtime, expandMultiPointPlugins):
a plugin named at an extension point comes in the place and with the weight given there; the others come
from `multiPoint`, which the default plugins belong to, wherever they implement the point.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import ALL, PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.made import Made, close_plugins
from webhook.scheduling.per_node import as_filter, as_score
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugin_instances import EXTENSION_POINTS, PluginInstances
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.registry import Registry
from webhook.scheduling.timing import Timing

__all__ = ["DEFAULT_PLUGINS", "build_framework", "build_frameworks", "made_of"]

# kube-scheduler's order and weights (apis/config/v1/default_plugins.go).
DEFAULT_PLUGINS = (
    PluginRef(name="SchedulingGates"),
    PluginRef(name="PrioritySort"),
    PluginRef(name="NodeName"),
    PluginRef(name="NodeUnschedulable"),
    PluginRef(name="TaintToleration", weight=3),
    PluginRef(name="NodeAffinity", weight=2),
    PluginRef(name="NodePorts"),
    PluginRef(name="NodeResourcesFit", weight=1),
    PluginRef(name="VolumeRestrictions"),
    PluginRef(name="VolumeBinding"),
    PluginRef(name="VolumeZone"),
    PluginRef(name="PodTopologySpread", weight=2),
    PluginRef(name="InterPodAffinity", weight=2),
    PluginRef(name="NodeResourcesBalancedAllocation", weight=1),
    PluginRef(name="ImageLocality", weight=1),
    PluginRef(name="NodeDeclaredFeatures"),
)

_FIELDS = {field.name: field.encode_name for field in msgspec.structs.fields(PluginsConfig)}


def build_frameworks(
    profiles: Iterable[Profile],
    registry: Registry,
    cache: Cache,
    rng: random.Random,
    timing: Timing | None = None,
    *,
    previous: Mapping[str, Framework] | None = None,
) -> dict[str, Framework]:
    """Return one framework per profile, by schedulerName; raises ConfigurationError.

    Plugins go on as they are where `previous` has them alike. If one profile can't be built, the plugins that were
    made for the others are closed.
    """
    before = previous or {}
    built: dict[str, Framework] = {}
    try:
        for profile in profiles:
            name = profile.scheduler_name
            built[name] = build_framework(profile, registry, cache, rng, timing, previous=before.get(name))
    except BaseException:
        close_plugins(made_of(built), but=made_of(before))
        raise
    return built


def made_of(frameworks: Mapping[str, Framework]) -> list[Made]:
    """Return all plugins of these frameworks."""
    return [made for framework in frameworks.values() for made in framework.plugins.made.values()]


def build_framework(
    profile: Profile,
    registry: Registry,
    cache: Cache,
    rng: random.Random,
    timing: Timing | None = None,
    *,
    previous: Framework | None = None,
) -> Framework:
    """Return the framework of one profile; raises ConfigurationError for names, points and arguments that are wrong.

    A plugin that is the same in `previous`, with the same arguments, goes on with all that it keeps.
    """
    made_before = {} if previous is None else previous.plugins.made
    instances = PluginInstances(profile, registry, Handle(profile.scheduler_name, cache), made_before)
    try:
        plugins = _plugin_set(profile, registry, instances)
    except BaseException:
        close_plugins(instances.made.values(), but=made_before.values())
        raise
    return Framework(profile.scheduler_name, plugins, cache, rng, timing)


def _plugin_set(profile: Profile, registry: Registry, instances: PluginInstances) -> PluginSet:
    order = _Order(profile, registry, instances)
    order.refuse_unknown_names(profile.plugins)
    everywhere = _merged(DEFAULT_PLUGINS, profile.plugins.multi_point)
    points: dict[str, tuple[Enabled[Any], ...]] = {
        point: tuple(order.enabled(point, everywhere, getattr(profile.plugins, point)))
        for point in EXTENSION_POINTS
    }
    order.refuse_unused_arguments()
    queue_sort = points.pop("queue_sort")
    if len(queue_sort) != 1:
        names = ", ".join(each.name for each in queue_sort) or "none"
        raise ConfigurationError(
            f"profile {profile.scheduler_name}: expected exactly one queueSort plugin, got {names}"
        )
    try:
        local, events = instances.local(), instances.events()
    except ConfigurationError as error:
        raise ConfigurationError(f"profile {profile.scheduler_name}: {error}") from error
    return PluginSet(
        queue_sort=queue_sort[0],
        normalize=instances.normalizing(),
        local=local,
        events=events,
        made=instances.made,
        **points,
    )


class _Order:
    """Puts the plugins of a profile in order, point by point."""

    def __init__(self, profile: Profile, registry: Registry, instances: PluginInstances) -> None:
        self._scheduler_name = profile.scheduler_name
        self._configured = [config.name for config in profile.plugin_config]
        self._registry = registry
        self._instances = instances

    def enabled(
        self, point: str, everywhere: Sequence[PluginRef], specific: PluginSetConfig
    ) -> Iterable[Enabled[Any]]:
        """Return the plugins of one extension point, in order."""
        inherited = {ref.name: ref for ref in everywhere}
        named = {ref.name for ref in specific.enabled}
        off = {ref.name for ref in specific.disabled}
        first = [ref for ref in specific.enabled if ref.name in inherited]
        rest = [ref for ref in everywhere if ref.name not in named and not off & {ref.name, ALL}]
        last = [ref for ref in specific.enabled if ref.name not in inherited]
        for ref in (*first, *rest, *last):
            plugin = self._at(point, ref.name)
            if plugin is not None:
                weight = ref.weight or (inherited[ref.name].weight if ref.name in inherited else None) or 1
                yield Enabled(ref.name, plugin, weight)
            elif ref.name in named:
                raise self._fault(
                    f"plugin {ref.name} is enabled at {_FIELDS[point]}, but doesn't implement it"
                )

    def refuse_unknown_names(self, plugins: PluginsConfig) -> None:
        """Raise ConfigurationError where something is disabled that doesn't exist: a slip, most likely."""
        for point, field in _FIELDS.items():
            specific: PluginSetConfig = getattr(plugins, point)
            for ref in specific.disabled:
                if ref.name != ALL and ref.name not in self._registry:
                    raise self._fault(f"{field}.disabled: no plugin is called {ref.name}")

    def refuse_unused_arguments(self) -> None:
        """Raise ConfigurationError for arguments of a plugin that the profile doesn't use."""
        for name in self._configured:
            if name not in self._instances.made:
                raise self._fault(f"pluginConfig has arguments for {name}, which is not enabled")

    def _fault(self, text: str) -> ConfigurationError:
        return ConfigurationError(f"profile {self._scheduler_name}: {text}")

    def _at(self, point: str, name: str) -> object | None:
        """Return the plugin as the extension point takes it, or None where it doesn't implement it."""
        try:
            plugin = self._instances.get(name)
        except ConfigurationError as error:
            raise self._fault(str(error)) from error
        if point == "filter":
            return as_filter(name, plugin)
        if point == "score":
            return as_score(plugin)
        return plugin if isinstance(plugin, EXTENSION_POINTS[point]) else None


def _merged(defaults: Sequence[PluginRef], changes: PluginSetConfig) -> list[PluginRef]:
    """Return the defaults less what is disabled, replaced in place or followed by what is enabled."""
    off = {ref.name for ref in changes.disabled}
    replaced = {ref.name: ref for ref in changes.enabled}
    kept = [replaced.pop(ref.name, ref) for ref in defaults if not off & {ref.name, ALL}]
    return [*kept, *replaced.values()]
