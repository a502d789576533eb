"""Where plugins come from beside the built-in ones: entry points, modules and directories of files.

A source is made of units, each of which is imported at once: an entry point, a module, a file.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Protocol
from weakref import WeakSet

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.containment import described, faults
from webhook.scheduling.registry import Registration, Registry, as_factory, collecting, registered_in

__all__ = ["Imported", "Unit", "came_along", "find_units"]

# The package under whose name the files of plugin directories are imported.
_FILES_PACKAGE = "custom_scheduler_plugins"
_USE_A_PACKAGE = (
    "put files that belong together into a package that Python can import, and name that as `module:`"
)
_imports = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Imported:
    """The plugins that a unit brought; `module` is what to forget when they go, if they can."""

    registrations: tuple[Registration, ...]
    module: str | None = None

    def forget(self) -> None:
        """Let go of the module; what was made by it lives on for as long as somebody holds it."""
        if self.module is not None:
            sys.modules.pop(self.module, None)


# Modules that have registered plugins when something else was loaded. They stay imported whatever becomes of that.
_came_along: WeakSet[ModuleType] = WeakSet()


class Unit(Protocol):
    """One thing to import. Units are the same if their `where` is; another `version` has to be imported anew."""

    @property
    def where(self) -> str:
        """What it is, for people."""

    @property
    def version(self) -> str:
        """What changes with its content."""

    def load(self) -> Imported:
        """Import it; raises ConfigurationError if that fails or brings no plugin."""


def find_units(sources: Iterable[PluginSource]) -> Iterator[Unit]:
    """Yield what is there of the sources now; raises ConfigurationError for a directory that isn't."""
    for source in sources:
        if source.entry_points is not None:
            points = entry_points(group=source.entry_points)
            yield from (EntryPointUnit(point) for point in sorted(points, key=lambda point: point.name))
        elif source.module is not None:
            yield ModuleUnit(source.module)
        elif source.directory is not None:
            yield from _files(Path(source.directory))


def came_along() -> Iterator[tuple[str, Imported]]:
    """Yield the modules that no source had to name, and what they have registered."""
    modules = (module for module in _came_along if sys.modules.get(module.__name__) is module)
    for module in sorted(modules, key=lambda module: module.__name__):
        yield ModuleUnit(module.__name__).where, Imported(registered_in(module))


@dataclass(frozen=True, slots=True)
class EntryPointUnit:
    """An entry point of an installed distribution, whose name is the plugin's."""

    point: EntryPoint

    @property
    def where(self) -> str:
        """Group and name."""
        return f"entry point {self.point.name} of {self.point.group}"

    @property
    def version(self) -> str:
        """That of the distribution."""
        return "" if self.point.dist is None else self.point.dist.version

    def load(self) -> Imported:
        """Import what it names, and register that under its name."""
        with _importing(self.where), _own(self.point.module) as registry:
            # What it names may be decorated and so register itself, by its module's import.
            target = self.point.load()
            for each in _registered_below(self.point.module):
                registry.add(each)
            if self.point.name not in registry:
                registry.register(self.point.name, as_factory(self.point.name, target), source=self.where)
        return Imported(tuple(registry))


@dataclass(frozen=True, slots=True)
class ModuleUnit:
    """A module that can be imported by its name, and registers plugins when it is."""

    name: str

    @property
    def where(self) -> str:
        """The name."""
        return f"module {self.name}"

    @property
    def version(self) -> str:
        """Its own word once it is imported, if it has one."""
        return str(getattr(sys.modules.get(self.name), "__version__", ""))

    def load(self) -> Imported:
        """Import it, for as long as this process lives."""
        with _importing(self.where), _own(self.name) as registry:
            module = importlib.import_module(self.name)
            for each in _registered_below(self.name):
                registry.add(each)
            _refuse_nothing(self.where, module, registry)
        return Imported(tuple(registry))


@dataclass(frozen=True, slots=True)
class FileUnit:
    """A file of a plugin directory, as it was when it was found."""

    path: Path
    text: bytes

    @property
    def where(self) -> str:
        """The path."""
        return f"plugin file {self.path}"

    @property
    def version(self) -> str:
        """A digest of the text."""
        return hashlib.sha256(self.text).hexdigest()[:12]

    def load(self) -> Imported:
        """Run the text as a module of its own, beside those that came from the file before."""
        if self.path.name == "__init__.py":
            raise ConfigurationError(f"{self.where}: a directory is no package; {_USE_A_PACKAGE}")
        name = f"{_FILES_PACKAGE}.{self.path.stem}_{next(_imports)}"
        with _importing(self.where):
            spec = importlib.util.spec_from_file_location(name, self.path)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            # Dataclasses and msgspec look up the module of a class to resolve its annotations.
            sys.modules[name] = module
            try:
                with _own(name) as registry:
                    # Not by the loader, which might find another text there by now, or an old one in its cache.
                    exec(compile(self.text, self.path, "exec"), module.__dict__)  # noqa: S102 (plugins are code)
                    _refuse_nothing(self.where, module, registry)
            except BaseException:
                del sys.modules[name]
                raise
            # Whose name is another each time.
            own = (replace(each, source=self.where) if each.module == name else each for each in registry)
            return Imported(tuple(own), module=name)


def _files(directory: Path) -> Iterator[FileUnit]:
    if not directory.is_dir():
        raise ConfigurationError(
            f"plugin directory {directory} is not there; mount it or take it out of pluginSources"
        )
    for path in sorted(directory.glob("*.py")):
        try:
            yield FileUnit(path, path.read_bytes())
        except FileNotFoundError:
            # Gone since the look into the directory.
            continue
        except OSError as error:
            raise ConfigurationError(f"plugin file {path} can't be read: {error.strerror}") from error


@contextmanager
def _own(name: str) -> Iterator[Registry]:
    """Collect what is registered within the block, and note the modules other than this one that do so."""
    registry = Registry()
    try:
        with collecting(registry):
            yield registry
    finally:
        # Also when it fails: these aren't imported again when it is mended.
        others = {each.module for each in registry if not _is_below(each.module, name)}
        _came_along.update(sys.modules[other] for other in others & sys.modules.keys())


def _registered_below(name: str) -> Iterator[Registration]:
    for module in [module for other, module in sys.modules.items() if _is_below(other, name)]:
        yield from registered_in(module)


def _is_below(module: str, name: str) -> bool:
    return f"{module}.".startswith(f"{name}.")


@contextmanager
def _importing(what: str) -> Iterator[None]:
    """Have whatever goes wrong be a ConfigurationError that says where."""
    try:
        yield
    except ConfigurationError as error:
        if str(error).startswith(what):
            raise
        raise ConfigurationError(f"{what}: {error}") from error
    except faults() as error:
        if isinstance(error, ModuleNotFoundError) and error.name == _FILES_PACKAGE:
            raise ConfigurationError(
                f"{what}: files of a directory can't import each other; {_USE_A_PACKAGE}"
            ) from error
        raise ConfigurationError(f"{what} can't be imported: {described(error)}") from error


def _refuse_nothing(what: str, module: ModuleType, registry: Registry) -> None:
    """Raise ConfigurationError unless the module has registered a plugin, or takes in something of one that has."""
    taken_in = (
        value if isinstance(value, ModuleType) else sys.modules.get(value.__module__)
        for value in vars(module).values()
        if isinstance(value, ModuleType | type | FunctionType)
    )
    if not len(registry) and not any(registered_in(each) for each in taken_in if each is not None):
        raise ConfigurationError(f'{what} registers no plugin; decorate one with @plugin("Name")')
