"""What runs: a configuration, what is loaded of its sources, and the frameworks that were built of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.binder.plugin_state import PluginState, uses_of
from webhook.observe.plugin_metrics import Usage, usage
from webhook.scheduling.config import SchedulerConfiguration
from webhook.scheduling.framework import Framework
from webhook.scheduling.loading import overdue
from webhook.scheduling.plugin_manager import Loaded, LoadedUnit
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.registry import Registry

__all__ = ["InForce"]

BUILT_IN = "built in"


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """All of it at one time: `suspended` are the plugins that are left out, and `unsuspended` those that should be but can't.

    `refusals` say why the configuration or a source as it stands, in the file `origin`, is not what is in force.
    """

    configuration: SchedulerConfiguration
    loaded: Loaded
    suspended: Mapping[str, str] = field(default_factory=dict)
    unsuspended: Mapping[str, str] = field(default_factory=dict)
    frameworks: Mapping[str, Framework] = field(default_factory=dict)
    origin: str = ""
    refusals: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Tell whether anything that files say is not in force."""
        return bool(self.refusals) or any(unit.fault for unit in self.loaded.units.values())

    def units(self) -> dict[str, LoadedUnit]:
        """Return which unit of a source each plugin is from; built-in ones are from none."""
        return {name: unit for unit in self.loaded.units.values() for name in unit.plugins}

    def states(self) -> list[PluginState]:
        """Return what there is, by source and name."""
        units = self.units()
        built_in = Registry()
        register_built_in(built_in)
        counted = usage()
        found = []
        for each in self.loaded.registry:
            counts = counted.get(each.name, Usage())
            unit = units.get(each.name)
            uses = uses_of(each.name, self.frameworks)
            suspended = self.suspended.get(each.name, "")
            fault = suspended or self.unsuspended.get(each.name, "")
            found.append(
                PluginState(
                    name=each.name,
                    source=BUILT_IN if each.name in built_in else each.source if unit is None else unit.where,
                    version="" if unit is None else unit.version,
                    state="suspended" if suspended else "in use" if uses else "registered",
                    fault=fault or ("" if unit is None else unit.fault),
                    timed_calls=counts.calls,
                    seconds=counts.seconds,
                    over_budget=counts.over_budget,
                    failures=counts.failures,
                    text=each.documentation,
                    uses=uses,
                )
            )
        found += (
            PluginState(name="", source=unit.where, version="", state="refused", fault=unit.fault)
            for unit in self.loaded.units.values()
            if not unit.plugins
        )
        found += (
            PluginState(name="", source=self.origin, version="", state="refused", fault=fault)
            for fault in self.refusals
        )
        found += (
            PluginState(
                name="", source=what, version="", state="loading", fault=f"isn't done after {seconds:.0f} s"
            )
            for what, seconds in overdue()
        )
        return sorted(found, key=lambda state: (state.source, state.name))
