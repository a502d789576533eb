"""The scheduler's configuration file, in the vocabulary of KubeSchedulerConfiguration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import yaml

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import convert

__all__ = [
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

DEFAULT_SCHEDULER_NAME = "custom-scheduler"

_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_Weight: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class _UniqueKeys(yaml.CSafeLoader):
    """YAML's safe loader, which would otherwise take the last of equal keys without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"{key.value} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


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


class Profile(_Strict, frozen=True, kw_only=True):
    """The plugins for the pods of one `schedulerName`."""

    scheduler_name: _Name = DEFAULT_SCHEDULER_NAME
    plugins: PluginsConfig = PluginsConfig()
    plugin_config: tuple[PluginConfig, ...] = ()


class PluginSource(_Strict, frozen=True, kw_only=True):
    """Where plugins come from: an entry point group, a module, or a directory of files; one of the three."""

    entry_points: _Name | None = None
    module: _Name | None = None
    directory: _Name | None = None


class SchedulerConfiguration(_Strict, frozen=True, kw_only=True):
    """All of the file. Without one, the default profile with the default plugins."""

    api_version: Literal["custom-scheduler.io/v1alpha1"] = "custom-scheduler.io/v1alpha1"
    kind: Literal["SchedulerConfiguration"] = "SchedulerConfiguration"
    plugin_sources: tuple[PluginSource, ...] = ()
    profiles: Annotated[tuple[Profile, ...], msgspec.Meta(min_length=1)] = (Profile(),)


def load_configuration(path: Path) -> SchedulerConfiguration:
    """The configuration in a file; raises ConfigurationError naming the file and the YAML path of the fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"can't read the scheduler configuration {path}: {error}") from error
    return parse_configuration(text, source=str(path))


def parse_configuration(text: str, *, source: str) -> SchedulerConfiguration:
    """The configuration in a text; `source` names it in the ConfigurationError that a fault raises."""
    try:
        raw = yaml.load(text, Loader=_UniqueKeys)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = f"{error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise ConfigurationError(f"{source}:{line} not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise ConfigurationError(f"{source}: expected a SchedulerConfiguration, got {type(raw).__name__}")
    for key in ("apiVersion", "kind"):
        if key not in raw:
            raise ConfigurationError(f"{source}: {key} is missing")
    configuration = convert(raw, SchedulerConfiguration, source=source)
    for fault in _faults(configuration):
        raise ConfigurationError(f"{source}: {fault}")
    return configuration


def _faults(configuration: SchedulerConfiguration) -> Iterator[str]:
    for index, given in enumerate(configuration.plugin_sources):
        if sum(value is not None for value in (given.entry_points, given.module, given.directory)) != 1:
            yield f"pluginSources[{index}]: expected one of entryPoints, module, directory"
    for name in _repeated(profile.scheduler_name for profile in configuration.profiles):
        yield f"profiles: {name} is the schedulerName of more than one"
    for index, profile in enumerate(configuration.profiles):
        path = f"profiles[{index}]"
        for name in _repeated(config.name for config in profile.plugin_config):
            yield f"{path}.pluginConfig: {name} is there more than once"
        for point in msgspec.structs.fields(PluginsConfig):
            plugins: PluginSetConfig = getattr(profile.plugins, point.name)
            for name in _repeated(ref.name for ref in plugins.enabled):
                yield f"{path}.plugins.{point.encode_name}.enabled: {name} is there more than once"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
