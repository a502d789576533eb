"""Which plugins there are: loaded from their sources, and loaded anew or dropped as the sources change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.registry import Registry, default_registry
from webhook.scheduling.sources import Imported, Unit, came_along, find_units

__all__ = ["LoadedUnit", "PluginManager", "load_plugins"]


_NOTHING = Imported(())


@dataclass(frozen=True, slots=True)
class LoadedUnit:
    """What became of one unit of a source: its plugins, and the version that they are from.

    `fault` says why another version is not in use, or the only one.
    """

    where: str
    version: str = ""
    imported: Imported = _NOTHING
    fault: str = ""

    @property
    def plugins(self) -> tuple[str, ...]:
        """The names of its plugins."""
        return tuple(each.name for each in self.imported.registrations)


class PluginManager:
    """Loads all plugins of the sources; raises ConfigurationError for one that can't be imported, brings no plugin, or
    claims a taken name.

    Later changes come by `refresh`, from one thread. Then what is wrong is refused, and what ran before goes on.
    """

    def __init__(self, sources: Iterable[PluginSource] = ()) -> None:
        self.registry = Registry()
        self._units: dict[str, LoadedUnit] = {}
        self._seen: object = None
        self.refresh(sources)
        for unit in self.units:
            if unit.fault:
                raise ConfigurationError(unit.fault)

    @property
    def units(self) -> Sequence[LoadedUnit]:
        """All that came from sources, in their order."""
        return tuple(self._units.values())

    def refresh(self, sources: Iterable[PluginSource]) -> bool:
        """Take in what the sources have become, and tell whether anything is different now.

        Raises ConfigurationError where a source itself can't be read, and changes nothing then.
        """
        found = list(find_units(sources))
        seen = [(unit.where, unit.version) for unit in found]
        if seen == self._seen:
            return False
        self._seen = seen
        before, self._units = self._units, {}
        self.registry = _basic_registry()
        for unit in found:
            self._units[unit.where] = self._settled(unit, before.get(unit.where, LoadedUnit(unit.where)))
        for where, imported in came_along():
            if where not in self._units and self._add(imported) is None:
                self._units[where] = LoadedUnit(where, imported=imported)
        in_use = {id(each.imported) for each in self.units}
        for each in before.values():
            if id(each.imported) not in in_use:
                each.imported.forget()
        return True

    def _settled(self, unit: Unit, before: LoadedUnit) -> LoadedUnit:
        """Put the unit's plugins into the registry, or else those that it had before."""
        if unit.version == before.version and not before.fault and before.plugins:
            return before if self._add(before.imported) is None else self._lost(before)
        try:
            imported = unit.load()
        except ConfigurationError as error:
            fault = str(error)
        else:
            conflict = self._add(imported)
            if conflict is None:
                return LoadedUnit(unit.where, unit.version, imported)
            imported.forget()
            fault = f"{unit.where}: {conflict}"
        kept = before if self._add(before.imported) is None else LoadedUnit(unit.where)
        return replace(kept, fault=fault)

    def _lost(self, before: LoadedUnit) -> LoadedUnit:
        return LoadedUnit(before.where, fault=f"{before.where}: {self._conflict(before.imported)}")

    def _add(self, imported: Imported) -> str | None:
        """Register all of them, or none and return why not."""
        fault = self._conflict(imported)
        if fault is None:
            for each in imported.registrations:
                self.registry.add(each)
        return fault

    def _conflict(self, imported: Imported) -> str | None:
        for each in imported.registrations:
            if each.name in self.registry and self.registry.get(each.name) != each:
                owner = self.registry.get(each.name).source
                return f"plugin {each.name} is already registered by {owner}; give it another name"
        return None


def load_plugins(sources: Iterable[PluginSource] = ()) -> Registry:
    """Return all plugins: the built-in ones, those registered by code that runs here, and those of the sources.

    Raises ConfigurationError for a source that can't be imported, brings no plugin, or claims a taken name.
    """
    return PluginManager(sources).registry


def _basic_registry() -> Registry:
    registry = Registry()
    register_built_in(registry)
    for registration in default_registry:
        registry.add(registration)
    return registry
