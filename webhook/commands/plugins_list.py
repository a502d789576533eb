"""`custom-scheduler plugins list`: which plugins there are, here or in a running binder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from webhook.binder.plugin_state import PluginState
from webhook.commands.plugins_from import plugins_from
from webhook.commands.terminal import Cell, Terminal

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

_STYLES = {"in use": "green", "suspended": "bold red", "refused": "bold red"}


def run(*, scheduler_config: Path | None, url: str | None, output: Output) -> int:
    """Print the plugins and return the exit code; raises CustomSchedulerError."""
    states = plugins_from(scheduler_config=scheduler_config, url=url)
    terminal = Terminal()
    if output == "json":
        terminal.json(states)
    else:
        _print(states, terminal, counted=url is not None)
    return int(any(state.fault for state in states))


def _print(states: Sequence[PluginState], terminal: Terminal, *, counted: bool) -> None:
    texts = ["NAME", "STATE", "SOURCE", "VERSION"]
    numbers = ["TIMED", "MS", "SLOW", "FAILED"] if counted else []
    terminal.table(texts, (list(_cells(state, counted=counted)) for state in states), numbers=numbers)
    for state in states:
        if state.fault:
            terminal.line((f"{state.name or state.source}: ", "yellow"), state.fault)


def _cells(state: PluginState, *, counted: bool) -> Iterator[Cell]:
    yield state.name or "-"
    yield state.state, _STYLES.get(state.state, "")
    yield state.source
    yield state.version
    if counted:
        yield f"{state.timed_calls:,}"
        yield f"{state.milliseconds:.3f}" if state.timed_calls else "-"
        yield f"{state.over_budget:,}"
        yield f"{state.failures:,}"
