"""The plugins in use, followed through changes of the configuration and of the sources that it names."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from webhook.documents import read_document
from webhook.errors import ConfigurationError
from webhook.observe.plugin_metrics import Usage, usage
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import KIND, SchedulerConfiguration, parse_configuration
from webhook.scheduling.framework import Framework
from webhook.scheduling.plugin_manager import PluginManager
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.profile import build_frameworks
from webhook.scheduling.registry import Registry
from webhook.scheduling.timing import Timing

__all__ = ["PluginState", "Plugins"]

BUILT_IN = "built in"

log = logging.getLogger("custom_scheduler.binder")


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginState:
    """One plugin, or a unit of a source that brought none, whose `name` is empty.

    `state` is `in use`, `registered` (no profile has it), `suspended` or `refused`. One call in ten is timed.
    """

    name: str
    source: str
    version: str
    state: str
    fault: str = ""
    timed_calls: int = 0
    seconds: float = 0.0
    over_budget: int = 0
    failures: int = 0


class Plugins:
    """What a configuration file says, with the plugins of its sources; raises ConfigurationError.

    Made in a process that may fork afterwards, and built in the one that schedules. From then on one thread at a time
    calls `poll`; `suspend` and `states` may be called from any. What is wrong with a change is logged once, and what
    ran before goes on.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text = b"" if path is None else _read(path)
        self.configuration = SchedulerConfiguration() if path is None else _parse(self._text, path)
        self._manager = PluginManager(self.configuration.plugin_sources)
        self._frameworks: dict[str, Framework] = {}
        # Profiles may go on to speak of what was there once.
        self._known = {each.name for each in self._manager.registry}
        self._refused = ""
        self._lock = threading.Lock()
        self._suspended: dict[str, str] = {}
        self._suspensions_changed = False

    def build(self, cache: Cache, rng: random.Random, timing: Timing | None = None) -> dict[str, Framework]:
        """Return the frameworks by schedulerName, with plugins of their own; raises ConfigurationError."""
        self._frameworks = {}
        self._cache, self._rng, self._timing = cache, rng, timing
        self._frameworks = self._built(self.configuration)
        return dict(self._frameworks)

    def poll(self) -> Mapping[str, Framework] | None:
        """Look once for changes; return the frameworks anew if there are any."""
        try:
            frameworks = self._changed()
            refused = ""
        except ConfigurationError as error:
            frameworks = None
            refused = str(error)
        if refused not in ("", self._refused):
            log.error("%s; what ran before goes on", refused)
        self._refused = refused
        return frameworks

    def suspend(self, name: str, why: str) -> bool:
        """Leave a plugin out from the next `poll` on, until the configuration or a source changes.

        Returns whether that is new. Built-in plugins are never left out: a pod may wait, but not be placed wrongly.
        """
        with self._lock:
            if name in self._suspended or name not in self._foreign():
                return False
            self._suspended[name] = why
            self._suspensions_changed = True
        return True

    def states(self) -> list[PluginState]:
        """Return what there is, by source and name."""
        in_use = {name for framework in self._frameworks.values() for name in framework.plugins.made}
        units = {each: unit for unit in self._manager.units for each in unit.plugins}
        built_in = Registry()
        register_built_in(built_in)
        counted = usage()
        found = []
        for each in self._manager.registry:
            counts = counted.get(each.name, Usage())
            unit = units.get(each.name)
            suspended = self._suspended.get(each.name, "")
            found.append(
                PluginState(
                    name=each.name,
                    source=BUILT_IN if each.name in built_in else each.source if unit is None else unit.where,
                    version="" if unit is None else unit.version,
                    state="suspended" if suspended else "in use" if each.name in in_use else "registered",
                    fault=suspended or ("" if unit is None else unit.fault),
                    timed_calls=counts.calls,
                    seconds=counts.seconds,
                    over_budget=counts.over_budget,
                    failures=counts.failures,
                )
            )
        found += (
            PluginState(name="", source=unit.where, version="", state="refused", fault=unit.fault)
            for unit in self._manager.units
            if not unit.plugins
        )
        return sorted(found, key=lambda state: (state.source, state.name))

    def documentation(self, name: str) -> str:
        """Return what a plugin says of itself; raises ConfigurationError where there is none of that name."""
        return self._manager.registry.get(name).documentation

    def _changed(self) -> Mapping[str, Framework] | None:
        text, configuration = self._look()
        before = {unit.where: unit.fault for unit in self._manager.units}
        changed = self._manager.refresh(configuration.plugin_sources)
        for unit in self._manager.units:
            if unit.fault and unit.fault != before.get(unit.where):
                log.error("%s; what ran before goes on", unit.fault)
        with self._lock:
            if changed or configuration != self.configuration:
                # What was left out gets another chance.
                self._suspended.clear()
            elif not self._suspensions_changed:
                return None
            self._suspensions_changed = False
        frameworks = self._built(configuration)
        for name, framework in frameworks.items():
            for difference in _differences(self._frameworks[name], framework):
                log.info("profile %s: %s", name, difference)
        self._text, self.configuration, self._frameworks = text, configuration, frameworks
        return dict(frameworks)

    def _look(self) -> tuple[bytes, SchedulerConfiguration]:
        if self._path is None:
            return self._text, self.configuration
        text = _read(self._path)
        if text == self._text:
            return text, self.configuration
        configuration = _parse(text, self._path)
        names = [profile.scheduler_name for profile in configuration.profiles]
        if sorted(names) != sorted(self._frameworks):
            # The pods of a new profile were not queued when they came.
            raise ConfigurationError(
                f"{self._path}: profiles come and go only with a restart; "
                f"running are {', '.join(sorted(self._frameworks))}, the file has {', '.join(sorted(names))}"
            )
        return text, configuration

    def _built(self, configuration: SchedulerConfiguration) -> dict[str, Framework]:
        registry = self._manager.registry
        gone = {name for name in self._known if name not in registry}
        self._known |= {each.name for each in registry}
        left_out = gone | set(self._suspended)
        profiles = [profile.without(left_out) for profile in configuration.profiles]
        return build_frameworks(
            profiles, registry, self._cache, self._rng, self._timing, previous=self._frameworks
        )

    def _foreign(self) -> set[str]:
        return {name for unit in self._manager.units for name in unit.plugins}


def _differences(old: Framework, new: Framework) -> Iterator[str]:
    before, after = old.plugins.made, new.plugins.made
    yield from (f"plugin {name} is in use" for name in after if name not in before)
    yield from (f"plugin {name} is not in use any more" for name in before if name not in after)
    for name in before:
        if name in after and before[name].plugin is not after[name].plugin:
            yield f"plugin {name} was made anew"


def _read(path: Path) -> bytes:
    return read_document(path, kind=KIND, error=ConfigurationError)


def _parse(text: bytes, path: Path) -> SchedulerConfiguration:
    return parse_configuration(text, source=str(path))
