"""`custom-scheduler plugins describe`: one plugin, and how the profiles use it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from webhook.binder.plugins import Plugins
from webhook.commands.terminal import Terminal
from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginsConfig
from webhook.scheduling.framework import Framework

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

_POINTS = {field.name: field.encode_name for field in msgspec.structs.fields(PluginsConfig)}


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a profile uses the plugin; the weight counts where it scores."""

    profile: str
    extension_points: list[str]
    weight: int | None
    args: Mapping[str, Any]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say of a plugin."""

    name: str
    source: str
    version: str
    state: str
    text: str
    uses: list[Use]


def run(name: str, *, scheduler_config: Path | None, output: Output) -> int:
    """Print the description and return 0; raises ConfigurationError where there is no such plugin."""
    plugins = Plugins(scheduler_config)
    frameworks = plugins.build(Cache(), random.Random())  # noqa: S311 (draws nothing)
    states = {state.name: state for state in plugins.states()}
    if name not in states:
        raise ConfigurationError(
            f"no plugin is called {name}; see which there are: custom-scheduler plugins list"
        )
    uses = [
        use
        for profile, framework in frameworks.items()
        if (use := _use(name, profile, framework)) is not None
    ]
    state = states[name]
    described = Description(
        name=name,
        source=state.source,
        version=state.version,
        state=state.state,
        text=plugins.documentation(name),
        uses=uses,
    )
    terminal = Terminal()
    if output == "json":
        terminal.json(described)
    else:
        _print(described, terminal)
    return 0


def _use(name: str, profile: str, framework: Framework) -> Use | None:
    made = framework.plugins.made.get(name)
    if made is None:
        return None
    points = []
    weight = None
    for field, point in _POINTS.items():
        enabled = getattr(framework.plugins, field, ())
        for each in enabled if isinstance(enabled, tuple) else (enabled,):
            if each.name == name:
                points.append(point)
                weight = each.weight if field == "score" else weight
    return Use(profile=profile, extension_points=points, weight=weight, args=made.args)


def _print(described: Description, terminal: Terminal) -> None:
    version = f", version {described.version}" if described.version else ""
    terminal.line((described.name, "bold"), f", {described.state}")
    terminal.line(f"From {described.source}{version}")
    if described.text:
        terminal.line("")
        for line in described.text.splitlines():
            terminal.line(line)
    for use in described.uses:
        terminal.line("")
        terminal.line(f"Profile {use.profile}")
        terminal.line(f"  at {', '.join(use.extension_points)}")
        if use.weight is not None:
            terminal.line(f"  weight {use.weight}")
        if use.args:
            terminal.line(f"  arguments {msgspec.json.encode(use.args).decode()}")
