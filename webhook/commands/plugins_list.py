"""`custom-scheduler plugins list`: which plugins there are, here or in a running binder."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import urllib3

from webhook.binder.plugins import Plugins, PluginState
from webhook.commands.terminal import Cell, Terminal
from webhook.errors import ConfigurationError, CustomSchedulerError
from webhook.scheduling.cache import Cache

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

_PATH = "/plugins"
_SECONDS = 10.0
_STYLES = {"in use": "green", "suspended": "bold red", "refused": "bold red"}


def run(*, scheduler_config: Path | None, url: str | None, output: Output) -> int:
    """Print the plugins and return the exit code; raises CustomSchedulerError."""
    if scheduler_config is not None and url is not None:
        raise ConfigurationError("both --scheduler-config and --from are given; choose one of them")
    states = _here(scheduler_config) if url is None else _there(url)
    terminal = Terminal()
    if output == "json":
        terminal.json(states)
    else:
        _print(states, terminal, counted=url is not None)
    return int(any(state.state in ("suspended", "refused") for state in states))


def _here(path: Path | None) -> Sequence[PluginState]:
    plugins = Plugins(path)
    plugins.build(Cache(), random.Random())  # noqa: S311 (draws nothing)
    return plugins.states()


def _there(url: str) -> Sequence[PluginState]:
    address = url.rstrip("/") + _PATH
    try:
        answer = urllib3.request("GET", address, retries=False, redirect=False, timeout=_SECONDS)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise CustomSchedulerError(
            f"{address}: no answer ({error}); give the ops port of a binder, as kubectl port-forward shows it"
        ) from error
    try:
        if answer.status == 200:
            return msgspec.json.decode(answer.data, type=list[PluginState])
        fault = f"answered {answer.status}"
    except msgspec.DecodeError as error:
        fault = str(error)
    raise CustomSchedulerError(f"{address}: is no binder's ops port ({fault}); give the address of one")


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
        yield f"{1000 * state.seconds / state.timed_calls:.3f}" if state.timed_calls else "-"
        yield f"{state.over_budget:,}"
        yield f"{state.failures:,}"
