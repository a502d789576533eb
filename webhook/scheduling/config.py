"""The scheduler's configuration file, in the vocabulary of KubeSchedulerConfiguration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from webhook.documents import API_VERSION, open_document, read_document
from webhook.errors import ConfigurationError

__all__ = [
    "ALL",
    "DEFAULT_SCHEDULER_NAME",
    "PluginConfig",
    "PluginRef",
    "PluginSetConfig",
    "PluginSource",
    "PluginsConfig",
    "Profile",
    "SchedulerConfiguration",
    "load_configuration",
    "parse_configuration",
]

KIND = "SchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "custom-scheduler"
ALL = "*"

_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_Weight: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class PluginRef(_Strict, frozen=True, kw_only=True):
    """A plugin by name; the weight counts where it scores."""

    name: _Name
    weight: _Weight | None = None


class PluginSetConfig(_Strict, frozen=True, kw_only=True):
    """Plugins to add to an extension point and to take from it; `*` takes all defaults."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class PluginsConfig(_Strict, frozen=True, kw_only=True):
    """Plugins by extension point; `multi_point` stands for all points that a plugin implements."""

    multi_point: PluginSetConfig = PluginSetConfig()
    pre_enqueue: PluginSetConfig = PluginSetConfig()
    queue_sort: PluginSetConfig = PluginSetConfig()
    pre_filter: PluginSetConfig = PluginSetConfig()
    filter: PluginSetConfig = PluginSetConfig()
    post_filter: PluginSetConfig = PluginSetConfig()
    pre_score: PluginSetConfig = PluginSetConfig()
    score: PluginSetConfig = PluginSetConfig()
    reserve: PluginSetConfig = PluginSetConfig()
    permit: PluginSetConfig = PluginSetConfig()
    pre_bind: PluginSetConfig = PluginSetConfig()
    bind: PluginSetConfig = PluginSetConfig()
    post_bind: PluginSetConfig = PluginSetConfig()


class PluginConfig(_Strict, frozen=True, kw_only=True):
    """The arguments of one plugin, which checks them itself."""

    name: _Name
    args: dict[str, Any] = {}


_Named = TypeVar("_Named", PluginRef, PluginConfig)


class Profile(_Strict, frozen=True, kw_only=True):
    """The plugins for the pods of one `schedulerName`."""

    scheduler_name: _Name = DEFAULT_SCHEDULER_NAME
    plugins: PluginsConfig = PluginsConfig()
    plugin_config: tuple[PluginConfig, ...] = ()

    def named(self) -> set[str]:
        """Return the plugins that it speaks of."""
        points = [getattr(self.plugins, field.name) for field in msgspec.structs.fields(PluginsConfig)]
        refs = (ref for point in points for ref in (*point.enabled, *point.disabled))
        return {each.name for each in (*refs, *self.plugin_config)} - {ALL}

    def without(self, names: Collection[str]) -> Profile:
        """Return the same profile where it doesn't speak of these plugins."""
        points = {
            field.name: PluginSetConfig(
                enabled=_left(point.enabled, names), disabled=_left(point.disabled, names)
            )
            for field in msgspec.structs.fields(PluginsConfig)
            for point in [getattr(self.plugins, field.name)]
        }
        return msgspec.structs.replace(
            self, plugins=PluginsConfig(**points), plugin_config=_left(self.plugin_config, names)
        )


class PluginSource(_Strict, frozen=True, kw_only=True):
    """Where plugins come from: an entry point group, a module, or a directory of files; one of the three."""

    entry_points: _Name | None = None
    module: _Name | None = None
    directory: _Name | None = None


class SchedulerConfiguration(_Strict, frozen=True, kw_only=True):
    """All of the file. Without one, the default profile with the default plugins."""

    api_version: str = API_VERSION
    kind: str = KIND
    plugin_sources: tuple[PluginSource, ...] = ()
    profiles: Annotated[tuple[Profile, ...], msgspec.Meta(min_length=1)] = (Profile(),)

    def with_defaults(self) -> SchedulerConfiguration:
        """Return one of the same sources and profiles, where these have the default plugins."""
        profiles = tuple(Profile(scheduler_name=profile.scheduler_name) for profile in self.profiles)
        return msgspec.structs.replace(self, profiles=profiles)

    def named(self) -> set[str]:
        """Return the plugins that profiles speak of."""
        return {name for profile in self.profiles for name in profile.named()}


_KEYS = tuple(field.encode_name for field in msgspec.structs.fields(SchedulerConfiguration))


def load_configuration(path: Path) -> SchedulerConfiguration:
    """Return the configuration in a file; raises ConfigurationError, also where the file can't be read."""
    text = read_document(path, kind=KIND, error=ConfigurationError)
    return parse_configuration(text, source=str(path), folder=path.parent)


def parse_configuration(
    text: str | bytes, *, source: str, folder: Path | None = None
) -> SchedulerConfiguration:
    """Return the configuration in a text; `source` names it in the ConfigurationError that a fault raises.

    Directories are relative to `folder`, as a kubeconfig's paths are to its own.
    """
    root = open_document(text, source=source, kind=KIND, error=ConfigurationError)
    fields = root.mapping(_KEYS, required=("apiVersion", "kind"))
    fields["apiVersion"].choice((API_VERSION,))
    fields["kind"].choice((KIND,))
    configuration = root.converted(SchedulerConfiguration)
    for path, fault in _faults(configuration):
        root.at(path).fault(fault)
    return configuration if folder is None else _within(folder, configuration)


def _within(folder: Path, configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    sources = (
        each
        if each.directory is None
        # What is absolute stays as it is.
        else msgspec.structs.replace(each, directory=str(folder / each.directory))
        for each in configuration.plugin_sources
    )
    return msgspec.structs.replace(configuration, plugin_sources=tuple(sources))


def _faults(configuration: SchedulerConfiguration) -> Iterator[tuple[str, str]]:
    """Yield what no single value shows: the path, and what is wrong there."""
    for index, given in enumerate(configuration.plugin_sources):
        if sum(value is not None for value in (given.entry_points, given.module, given.directory)) != 1:
            yield f".pluginSources[{index}]", "needs one of entryPoints, module, directory"
    for name in _repeated(profile.scheduler_name for profile in configuration.profiles):
        yield ".profiles", f"has {name} as the schedulerName of more than one"
    for index, profile in enumerate(configuration.profiles):
        path = f".profiles[{index}]"
        for name in _repeated(config.name for config in profile.plugin_config):
            yield f"{path}.pluginConfig", f"has {name} more than once"
        for point in msgspec.structs.fields(PluginsConfig):
            plugins: PluginSetConfig = getattr(profile.plugins, point.name)
            for name in _repeated(ref.name for ref in plugins.enabled):
                yield f"{path}.plugins.{point.encode_name}.enabled", f"has {name} more than once"


def _left(entries: tuple[_Named, ...], names: Collection[str]) -> tuple[_Named, ...]:
    return tuple(entry for entry in entries if entry.name not in names)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
