"""`custom-scheduler plugins describe`: one plugin, and how the profiles use it, here or in a running binder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from webhook.binder.plugin_state import PluginState
from webhook.commands.plugins_from import plugins_from
from webhook.commands.terminal import Terminal
from webhook.errors import ConfigurationError

__all__ = ["Output", "run"]

Output = Literal["text", "json"]


def run(name: str, *, scheduler_config: Path | None, url: str | None, output: Output) -> int:
    """Print the description and return the exit code; raises CustomSchedulerError, also where there is no such plugin."""
    states = {
        state.name: state for state in plugins_from(scheduler_config=scheduler_config, url=url) if state.name
    }
    if name not in states:
        raise ConfigurationError(
            f"no plugin is called {name}; see which there are: custom-scheduler plugins list"
        )
    described = states[name]
    terminal = Terminal()
    if output == "json":
        terminal.json(described)
    else:
        _print(described, terminal, counted=url is not None)
    return int(bool(described.fault))


def _print(described: PluginState, terminal: Terminal, *, counted: bool) -> None:
    version = f", version {described.version}" if described.version else ""
    terminal.line((described.name, "bold"), f", {described.state}")
    terminal.line(f"From {described.source}{version}")
    if described.fault:
        terminal.line(("Fault: ", "yellow"), described.fault)
    if counted:
        taken = f", {described.milliseconds:.3f} ms each" if described.timed_calls else ""
        terminal.line(
            f"Timed {described.timed_calls:,} calls{taken}, slow {described.over_budget:,}, "
            f"failed {described.failures:,}"
        )
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
