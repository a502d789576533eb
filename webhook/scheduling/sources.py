"""Where plugins come from: the built-in ones, entry points, modules and directories of files."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.containment import FAULTS
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.registry import Registry, as_factory, collecting, default_registry

__all__ = ["load_plugins"]

# The package under whose name the files of plugin directories are imported.
_FILES_PACKAGE = "custom_scheduler_plugins"


def load_plugins(sources: Iterable[PluginSource] = ()) -> Registry:
    """Return all plugins: the built-in ones, those registered by code that runs here, and those of the sources.

    Raises ConfigurationError for a source that can't be imported, brings no plugin, or claims a taken name.
    """
    registry = Registry()
    register_built_in(registry)
    for registration in default_registry:
        registry.register(registration.name, registration.factory, source=registration.source)
    for source in sources:
        if source.entry_points is not None:
            _load_entry_points(source.entry_points, registry)
        elif source.module is not None:
            _load_module(source.module, registry)
        elif source.directory is not None:
            _load_directory(Path(source.directory), registry)
    return registry


def _load_entry_points(group: str, registry: Registry) -> None:
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        where = f"entry point {point.name} of {group}"
        with _importing(where, registry):
            target = point.load()
        # What it names may be decorated and so be registered already, by its module's import.
        if point.name not in registry or registry.get(point.name).source != target.__module__:
            registry.register(point.name, as_factory(point.name, target), source=where)


def _load_module(name: str, registry: Registry) -> None:
    with _importing(f"module {name}", registry):
        importlib.import_module(name)
    # Not the count: a module that was imported before has registered its plugins then.
    if not any(each.source == name or each.source.startswith(f"{name}.") for each in registry):
        raise _no_plugin(f"module {name}")


def _load_directory(directory: Path, registry: Registry) -> None:
    if not directory.is_dir():
        raise ConfigurationError(
            f"plugin directory {directory} is not there; mount it or take it out of pluginSources"
        )
    for path in sorted(directory.glob("*.py")):
        before = len(registry)
        with _importing(f"plugin file {path}", registry):
            _import_file(path)
        if len(registry) == before:
            raise _no_plugin(f"plugin file {path}")


def _import_file(path: Path) -> None:
    # Two directories may hold files of one name.
    name = f"{_FILES_PACKAGE}.{path.stem}_{zlib.crc32(bytes(path)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and msgspec look up the module of a class to resolve its annotations.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


@contextmanager
def _importing(what: str, registry: Registry) -> Iterator[None]:
    """Have registrations go to the registry; whatever goes wrong is a ConfigurationError."""
    try:
        with collecting(registry):
            yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{what}: {error}") from error
    except FAULTS as error:
        raise ConfigurationError(f"{what} can't be imported: {type(error).__name__}: {error}") from error


def _no_plugin(what: str) -> ConfigurationError:
    return ConfigurationError(f'{what} registers no plugin; decorate one with @plugin("Name")')
