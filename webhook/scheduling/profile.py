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
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.containment import FAULTS, PluginError, ask
from webhook.scheduling.events import ClusterEvent, ClusterEventWithHint
from webhook.scheduling.framework import Framework
from webhook.scheduling.per_node import as_filter, as_score
from webhook.scheduling.plugin import (
    BindPlugin,
    EventsPlugin,
    FilterPlugin,
    Handle,
    Local,
    LocalPlugin,
    NormalizePlugin,
    PermitPlugin,
    PerNodeFilterPlugin,
    PerNodeScorePlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.registry import Registry
from webhook.scheduling.timing import Timing

__all__ = ["DEFAULT_PLUGINS", "build_framework", "build_frameworks"]

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

_ALL = "*"

_FIELDS = {field.name: field.encode_name for field in msgspec.structs.fields(PluginsConfig)}

# By the field of PluginsConfig and of PluginSet.
_PROTOCOLS: Mapping[str, type] = {
    "pre_enqueue": PreEnqueuePlugin,
    "queue_sort": QueueSortPlugin,
    "pre_filter": PreFilterPlugin,
    "filter": FilterPlugin,
    "post_filter": PostFilterPlugin,
    "pre_score": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "pre_bind": PreBindPlugin,
    "bind": BindPlugin,
    "post_bind": PostBindPlugin,
}


def build_frameworks(
    profiles: Iterable[Profile],
    registry: Registry,
    cache: Cache,
    rng: random.Random,
    timing: Timing | None = None,
) -> dict[str, Framework]:
    """Return one framework per profile, by schedulerName; raises ConfigurationError."""
    return {
        profile.scheduler_name: build_framework(profile, registry, cache, rng, timing) for profile in profiles
    }


def build_framework(
    profile: Profile, registry: Registry, cache: Cache, rng: random.Random, timing: Timing | None = None
) -> Framework:
    """Return the framework of one profile; raises ConfigurationError for names, points and arguments that are wrong."""
    workshop = _Workshop(profile, registry, Handle(profile.scheduler_name, cache))
    workshop.refuse_unknown_names(profile.plugins)
    everywhere = _merged(DEFAULT_PLUGINS, profile.plugins.multi_point)
    points: dict[str, tuple[Enabled[Any], ...]] = {
        point: tuple(workshop.enabled(point, everywhere, getattr(profile.plugins, point)))
        for point in _PROTOCOLS
    }
    workshop.refuse_unused_arguments()
    queue_sort = points.pop("queue_sort")
    if len(queue_sort) != 1:
        names = ", ".join(each.name for each in queue_sort) or "none"
        raise ConfigurationError(
            f"profile {profile.scheduler_name}: expected exactly one queueSort plugin, got {names}"
        )
    made = workshop.made
    plugins = PluginSet(
        queue_sort=queue_sort[0],
        normalize={name: plugin for name, plugin in made.items() if isinstance(plugin, NormalizePlugin)},
        local=workshop.local(),
        events=workshop.events(),
        **points,
    )
    return Framework(profile.scheduler_name, plugins, cache, rng, timing)


class _Workshop:
    """Makes each plugin of a profile once."""

    def __init__(self, profile: Profile, registry: Registry, handle: Handle) -> None:
        self.made: dict[str, object] = {}
        self._scheduler_name = profile.scheduler_name
        self._registry = registry
        self._handle = handle
        self._args = {config.name: config.args for config in profile.plugin_config}

    def enabled(
        self, point: str, everywhere: Sequence[PluginRef], specific: PluginSetConfig
    ) -> Iterable[Enabled[Any]]:
        """Return the plugins of one extension point, in order."""
        inherited = {ref.name: ref for ref in everywhere}
        named = {ref.name for ref in specific.enabled}
        off = {ref.name for ref in specific.disabled}
        first = [ref for ref in specific.enabled if ref.name in inherited]
        rest = [ref for ref in everywhere if ref.name not in named and not off & {ref.name, _ALL}]
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
                if ref.name != _ALL and ref.name not in self._registry:
                    raise self._fault(f"{field}.disabled: no plugin is called {ref.name}")

    def refuse_unused_arguments(self) -> None:
        """Raise ConfigurationError for arguments of a plugin that the profile doesn't use."""
        for name in self._args:
            if name not in self.made:
                raise self._fault(f"pluginConfig has arguments for {name}, which is not enabled")

    def events(self) -> dict[str, tuple[ClusterEventWithHint, ...]]:
        """Return what each plugin that says so waits for."""
        events: dict[str, tuple[ClusterEventWithHint, ...]] = {}
        for name, plugin in self.made.items():
            if isinstance(plugin, EventsPlugin):
                try:
                    answer: object = ask(name, "events_to_register", plugin.events_to_register)
                except PluginError as error:
                    raise self._fault(str(error)) from error
                if not isinstance(answer, tuple) or not all(
                    isinstance(each, ClusterEvent | ClusterEventWithHint) for each in answer
                ):
                    raise self._fault(
                        f"plugin {name}: events_to_register: expected a tuple of ClusterEvent or ClusterEventWithHint"
                    )
                events[name] = tuple(
                    ClusterEventWithHint(each) if isinstance(each, ClusterEvent) else each for each in answer
                )
        return events

    def local(self) -> dict[str, Local]:
        """Return the plugins that look at each node by itself, and at what of it."""
        found: dict[str, Local] = {}
        for name, plugin in self.made.items():
            if isinstance(plugin, LocalPlugin):
                if not isinstance(plugin.local, Local):
                    raise self._fault(f"plugin {name}: local: expected a Local, got {plugin.local!r}")
                found[name] = plugin.local
        return found

    def _make(self, name: str) -> object:
        if name not in self.made:
            try:
                registration = self._registry.get(name)
                plugin = registration.factory(self._args.get(name, {}), self._handle)
            except ConfigurationError as error:
                raise self._fault(str(error)) from error
            except FAULTS as error:
                raise self._fault(
                    f"plugin {name} from {registration.source} can't be made: {type(error).__name__}: {error}"
                ) from error
            if hasattr(plugin, "filter") and not isinstance(plugin, FilterPlugin):
                raise self._fault(f"plugin {name} has filter, but no reasons to give for it")
            if not isinstance(plugin, (*_PROTOCOLS.values(), PerNodeFilterPlugin, PerNodeScorePlugin)):
                raise self._fault(f"plugin {name} from {registration.source} implements no extension point")
            self.made[name] = plugin
        return self.made[name]

    def _fault(self, text: str) -> ConfigurationError:
        return ConfigurationError(f"profile {self._scheduler_name}: {text}")

    def _at(self, point: str, name: str) -> object | None:
        """Return the plugin as the extension point takes it, or None where it doesn't implement it."""
        plugin = self._make(name)
        if point == "filter":
            return as_filter(name, plugin)
        if point == "score":
            return as_score(plugin)
        return plugin if isinstance(plugin, _PROTOCOLS[point]) else None


def _merged(defaults: Sequence[PluginRef], changes: PluginSetConfig) -> list[PluginRef]:
    """Return the defaults less what is disabled, replaced in place or followed by what is enabled."""
    off = {ref.name for ref in changes.disabled}
    replaced = {ref.name: ref for ref in changes.enabled}
    kept = [replaced.pop(ref.name, ref) for ref in defaults if not off & {ref.name, _ALL}]
    return [*kept, *replaced.values()]
