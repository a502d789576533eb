"""The plugins in use, followed through changes of the configuration and of the sources that it names."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from webhook.binder.differences import differences
from webhook.binder.in_force import InForce
from webhook.binder.lifetimes import Lifetimes
from webhook.binder.plugin_state import PluginState
from webhook.documents import read_document
from webhook.errors import ConfigurationError
from webhook.observe.plugin_metrics import REFUSED, SUSPENDED
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import KIND, SchedulerConfiguration, parse_configuration
from webhook.scheduling.framework import Framework
from webhook.scheduling.loading import watched
from webhook.scheduling.made import Made, close_plugins
from webhook.scheduling.plugin_manager import Loaded, Offer, PluginManager
from webhook.scheduling.profile import build_frameworks, made_of
from webhook.scheduling.registry import Registration
from webhook.scheduling.timing import Timing

__all__ = ["Plugins"]

# A configuration, and which versions its sources offer.
_Wish: TypeAlias = tuple[SchedulerConfiguration, tuple[tuple[str, str], ...]]

log = logging.getLogger("custom_scheduler.binder")


class Plugins:
    """What a configuration file says, with the plugins of its sources; raises ConfigurationError.

    Made and checked in a process that may fork afterwards, and built in the one that schedules. From then on one
    thread at a time calls `poll`, and at last `close`; `suspend`, `release` and `states` may be called from any, and go
    by what is in force. What is wrong with a change is logged once, and what ran before goes on; other changes take
    effect. If it is `lenient`, that holds for the start too: before it only the default plugins are there.
    """

    def __init__(self, path: Path | None, *, lenient: bool = False) -> None:
        self._path = path
        self._text = b"" if path is None else _read(path)
        self._parsed = SchedulerConfiguration() if path is None else _parse(self._text, path)
        self._lenient = lenient
        self._manager = PluginManager(() if lenient else self._parsed.plugin_sources)
        configuration = self._parsed.with_defaults() if lenient else self._parsed
        self._in_force = InForce(
            configuration=configuration, loaded=self._manager.loaded, origin=str(path or "")
        )
        # Profiles may go on to speak of what was there once, or would be if it weren't refused.
        self._known = {each.name for each in self._manager.registry}
        if lenient:
            self._known |= self._parsed.named()
        # What has been tried and can't be in force; and what was wrong when it was last looked at.
        self._refused: list[tuple[_Wish, str]] = []
        self._faults: list[str] = []
        self._lock = threading.Lock()
        self._lifetimes = Lifetimes()
        # By each attempt to put a change in force.
        self._tried: list[Made] = []
        self._to_suspend: dict[str, tuple[str, Registration]] = {}

    @property
    def configuration(self) -> SchedulerConfiguration:
        """The configuration in force."""
        return self._in_force.configuration

    def check(self) -> None:
        """Build all once for nothing: raises the ConfigurationError that `build` would raise."""
        self.build(Cache(), random.Random())  # noqa: S311 (draws nothing)
        self.close()

    def build(self, cache: Cache, rng: random.Random, timing: Timing | None = None) -> dict[str, Framework]:
        """Return the frameworks by schedulerName, with plugins of their own; raises ConfigurationError."""
        self._cache, self._rng, self._timing = cache, rng, timing
        with watched():
            self._in_force = self._built(replace(self._in_force, frameworks={}))
        if self._lenient:
            self._in_force, _ = self._followed(self._in_force)
        _show(self._in_force, self._in_force)
        self._lifetimes.begin(made_of(self._in_force.frameworks))
        return dict(self._in_force.frameworks)

    def poll(self) -> Mapping[str, Framework] | None:
        """Look once for changes; return the frameworks anew if there are any. Plugins that were released are closed."""
        with watched():
            self._lifetimes.end_released()
        before = self._in_force
        now, faults = self._followed(before)
        self._lifetimes.begin(made_of(now.frameworks))
        for fault in dict.fromkeys(faults):
            if fault not in self._faults:
                log.error("%s; what ran before goes on", fault)
        self._faults = faults
        self._in_force = now
        _show(now, before)
        if now.frameworks is before.frameworks:
            return None
        for name, framework in now.frameworks.items():
            for difference in differences(before.frameworks[name].plugins, framework.plugins):
                log.info("profile %s: %s", name, difference)
        return dict(now.frameworks)

    def suspend(self, name: str, why: str) -> bool:
        """Leave a plugin out from the next `poll` on, until the configuration or a source changes.

        Returns whether that is new. Built-in plugins are never left out: a pod may wait, but not be placed wrongly.
        """
        with self._lock:
            now = self._in_force
            if name in now.suspended or name in self._to_suspend or name not in now.units():
                return False
            self._to_suspend[name] = why, now.loaded.registry.get(name)
        return True

    def release(self, made: Iterable[Made]) -> None:
        """Have plugins closed by the next `poll`: no pod is on its way with them, and none will be."""
        self._lifetimes.release(made)

    def close(self) -> None:
        """Close all plugins; only `states` and `build` may follow."""
        with watched():
            self._lifetimes.end_all()

    def states(self) -> list[PluginState]:
        """Return what there is, by source and name."""
        return self._in_force.states()

    def _followed(self, before: InForce) -> tuple[InForce, list[str]]:
        """Return what can be in force now, and what is wrong."""
        self._tried.clear()
        faults = list[str]()
        now = self._with_changes(before, faults)
        now = self._with_suspensions(before, now, faults)
        close_plugins(self._tried, but=(*made_of(before.frameworks), *made_of(now.frameworks)))
        return now, [*now.refusals, *faults]

    def _with_changes(self, now: InForce, faults: list[str]) -> InForce:
        """Return what can be in force of what the file and the sources say."""
        wishes, refused, refusals = [now.configuration], list[tuple[_Wish, str]](), list[str]()
        try:
            wished = self._look(now)
            if wished != now.configuration:
                wishes.insert(0, wished)
        except ConfigurationError as error:
            refusals.append(str(error))
        for configuration in wishes:
            try:
                offer = self._manager.offer(configuration.plugin_sources)
            except ConfigurationError as error:
                refusals.append(str(error))
                continue
            wish = configuration, offer.versions
            if (fault := self._refusal(wish)) is not None:
                refused.append((wish, fault))
            elif wish != (now.configuration, now.loaded.versions):
                try:
                    with watched():
                        changed = self._changed(now, configuration, offer)
                except ConfigurationError as error:
                    refused.append((wish, str(error)))
                    self._manager.use(offer, now.loaded)
                else:
                    faults += _new_faults(now.loaded, changed.loaded)
                    self._manager.use(offer, changed.loaded)
                    now = changed
                    break
        self._refused = refused
        self._known |= {each.name for each in now.loaded.registry}
        refusals += (fault for _, fault in refused)
        return replace(now, refusals=tuple(dict.fromkeys(refusals)))

    def _refusal(self, wish: _Wish) -> str | None:
        """Return why this could not be in force when it was tried, None if it has not been."""
        return next((fault for tried, fault in self._refused if tried == wish), None)

    def _changed(self, now: InForce, configuration: SchedulerConfiguration, offer: Offer) -> InForce:
        """Put the configuration in force, with what can be of the offer; raises ConfigurationError if nothing can."""
        wish = replace(now, configuration=configuration, unsuspended={})
        try:
            # What was left out gets another chance.
            return self._built(replace(wish, loaded=offer.loaded(), suspended={}))
        except ConfigurationError:
            log.debug("not all changes can be put in force at once; trying one by one")
        # One change may need the new configuration, or be needed by it.
        either = [configuration, *([now.configuration] if now.configuration != configuration else [])]
        refused = dict.fromkeys(offer.changes, "")
        for where in offer.changes:
            others = _without(where, refused)
            for each in either:
                try:
                    now = self._built(replace(now, configuration=each, loaded=offer.loaded(others)))
                except ConfigurationError as error:
                    refused[where] = f"{where}: {error}"
                else:
                    refused = others
                    break
        now = self._built(replace(wish, loaded=offer.loaded(refused), frameworks=now.frameworks))
        for name in now.suspended:
            try:
                now = self._built(replace(now, suspended=_without(name, now.suspended)))
            except ConfigurationError as error:
                now = replace(now, suspended={**now.suspended, name: str(error)})
        return now

    def _with_suspensions(self, before: InForce, now: InForce, faults: list[str]) -> InForce:
        """Leave out the plugins that are to be and aren't others by now."""
        with self._lock:
            asked, self._to_suspend = self._to_suspend, {}
        for name, (why, registration) in asked.items():
            registry = now.loaded.registry
            if name in before.suspended or name not in registry or registry.get(name) != registration:
                continue
            try:
                now = self._built(replace(now, suspended={**now.suspended, name: why}))
            except ConfigurationError as error:
                fault = f"plugin {name} can't be left out: {error}"
                faults.append(fault)
                now = replace(now, unsuspended={**now.unsuspended, name: f"{why}; {fault}"})
        return now

    def _look(self, now: InForce) -> SchedulerConfiguration:
        if self._path is None:
            return now.configuration
        text = _read(self._path)
        if text != self._text:
            self._parsed, self._text = _parse(text, self._path), text
        names = [profile.scheduler_name for profile in self._parsed.profiles]
        if sorted(names) != sorted(now.frameworks):
            # The pods of a new profile were not queued when they came.
            raise ConfigurationError(
                f"{self._path}: profiles come and go only with a restart; "
                f"running are {', '.join(sorted(now.frameworks))}, the file has {', '.join(sorted(names))}"
            )
        return self._parsed

    def _built(self, wish: InForce) -> InForce:
        """Return the same with frameworks of its own, which take over the plugins that are alike."""
        registry = wish.loaded.registry
        gone = {name for name in self._known if name not in registry}
        left_out = gone | set(wish.suspended)
        profiles = [profile.without(left_out) for profile in wish.configuration.profiles]
        frameworks = build_frameworks(
            profiles, registry, self._cache, self._rng, self._timing, previous=wish.frameworks
        )
        self._tried += made_of(frameworks)
        return replace(wish, frameworks=frameworks)


def _show(now: InForce, before: InForce) -> None:
    """Have metrics tell what is refused and suspended; of what is gone nothing is."""
    REFUSED.set(now.is_refused)
    for name in {**before.units(), **now.units()}:
        SUSPENDED.labels(name).set(name in now.suspended)


def _without(name: str, faults: Mapping[str, str]) -> dict[str, str]:
    return {each: fault for each, fault in faults.items() if each != name}


def _new_faults(before: Loaded, after: Loaded) -> list[str]:
    told = {unit.fault for unit in before.units.values()}
    return [unit.fault for unit in after.units.values() if unit.fault and unit.fault not in told]


def _read(path: Path) -> bytes:
    return read_document(path, kind=KIND, error=ConfigurationError)


def _parse(text: bytes, path: Path) -> SchedulerConfiguration:
    return parse_configuration(text, source=str(path), folder=path.parent)
