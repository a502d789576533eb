"""Which plugins there are: loaded from their sources, and loaded anew or dropped as the sources change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.loading import loading, watched
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.registry import Registry, default_registry
from webhook.scheduling.sources import Imported, Unit, came_along, find_units

__all__ = ["Loaded", "LoadedUnit", "Offer", "PluginManager", "load_plugins"]


_NOTHING = Imported(())
_NONE: Mapping[str, str] = MappingProxyType({})


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


@dataclass(frozen=True, slots=True)
class Loaded:
    """All that came from sources, by `where` and in their order, and a registry with it; `versions` is what was offered."""

    units: Mapping[str, LoadedUnit]
    registry: Registry
    versions: tuple[tuple[str, str], ...] = ()


class Offer:
    """What the sources have now, beside what is loaded `before`; raises ConfigurationError for one that can't be read.

    Nothing is imported before `loaded` asks for it.
    """

    def __init__(self, sources: Iterable[PluginSource], before: Loaded) -> None:
        self._found = {unit.where: unit for unit in find_units(sources)}
        self._before = before.units
        self._imported: dict[str, LoadedUnit] = {}

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Tells one offer from another."""
        return tuple((unit.where, unit.version) for unit in self._found.values())

    @property
    def changes(self) -> list[str]:
        """By `where`: what is new, has another version or a fault, or is gone."""
        return [
            *(unit.where for unit in self._found.values() if not self._is_loaded(unit)),
            *(where for where in self._before if where not in self._found),
        ]

    def loaded(self, refused: Mapping[str, str] = _NONE) -> Loaded:
        """Return what there is with this offer, but for those changes that are refused, for a reason."""
        registry = _basic_registry()
        units: dict[str, LoadedUnit] = {}
        for where in (*self._found, *(where for where in refused if where not in self._found)):
            before = self._before.get(where, LoadedUnit(where))
            if where in refused:
                unit = replace(before, fault=refused[where])
            else:
                unit = self._new(self._found[where], before)
            units[where] = _settled(registry, unit, before)
        for where, imported in came_along():
            if where not in units and _add(registry, imported) is None:
                units[where] = LoadedUnit(where, imported=imported)
        return Loaded(units, registry, self.versions)

    def forget_all_but(self, loaded: Loaded) -> None:
        """Let go of the modules, of before and of this offer, that nothing of `loaded` is from."""
        in_use = {id(unit.imported) for unit in loaded.units.values()}
        for unit in (*self._before.values(), *self._imported.values()):
            if id(unit.imported) not in in_use:
                unit.imported.forget()

    def _is_loaded(self, unit: Unit) -> bool:
        before = self._before.get(unit.where)
        return (
            before is not None
            and unit.version == before.version
            and not before.fault
            and bool(before.plugins)
        )

    def _new(self, unit: Unit, before: LoadedUnit) -> LoadedUnit:
        if self._is_loaded(unit):
            return before
        if unit.where not in self._imported:
            try:
                with loading(unit.where):
                    imported = unit.load()
                self._imported[unit.where] = LoadedUnit(unit.where, unit.version, imported)
            except ConfigurationError as error:
                self._imported[unit.where] = replace(before, fault=str(error))
        return self._imported[unit.where]


class PluginManager:
    """Loads all plugins of the sources; raises ConfigurationError for one that can't be imported, brings no plugin, or
    claims a taken name.

    Later changes come by `refresh`, or by `offer` and `use`, from one thread. Then what is wrong is refused, and what
    ran before goes on.
    """

    def __init__(self, sources: Iterable[PluginSource] = ()) -> None:
        offer = Offer(sources, Loaded({}, Registry()))
        with watched():
            self.loaded = offer.loaded()
        for unit in self.units:
            if unit.fault:
                offer.forget_all_but(Loaded({}, Registry()))
                raise ConfigurationError(unit.fault)

    @property
    def registry(self) -> Registry:
        """All plugins."""
        return self.loaded.registry

    @property
    def units(self) -> Sequence[LoadedUnit]:
        """All that came from sources, in their order."""
        return tuple(self.loaded.units.values())

    def refresh(self, sources: Iterable[PluginSource]) -> bool:
        """Take in what the sources have become, and tell whether anything is different now.

        Raises ConfigurationError where a source itself can't be read, and changes nothing then.
        """
        offer = self.offer(sources)
        if offer.versions == self.loaded.versions:
            return False
        self.use(offer, offer.loaded())
        return True

    def offer(self, sources: Iterable[PluginSource]) -> Offer:
        """Look at the sources; raises ConfigurationError where one can't be read."""
        return Offer(sources, self.loaded)

    def use(self, offer: Offer, loaded: Loaded) -> None:
        """Settle on what is loaded with all of the offer, some or nothing."""
        self.loaded = loaded
        offer.forget_all_but(loaded)


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


def _settled(registry: Registry, unit: LoadedUnit, before: LoadedUnit) -> LoadedUnit:
    """Put the unit's plugins into the registry, or else those that it had before."""
    conflict = _add(registry, unit.imported)
    if conflict is None:
        return unit
    kept = before if _add(registry, before.imported) is None else LoadedUnit(unit.where)
    return replace(kept, fault=unit.fault or f"{unit.where}: {conflict}")


def _add(registry: Registry, imported: Imported) -> str | None:
    """Register all of them, or none and return why not."""
    for each in imported.registrations:
        if each.name in registry and registry.get(each.name) != each:
            owner = registry.get(each.name).source
            return f"plugin {each.name} is already registered by {owner}; give it another name"
    for each in imported.registrations:
        registry.add(each)
    return None
