"""What a binder would have and refuse that starts with a configuration, though a start refuses all for one fault."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from webhook.binder.plugin_state import PluginState
from webhook.binder.plugins import Plugins
from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache

__all__ = ["survey"]


def survey(path: Path | None) -> Sequence[PluginState]:
    """Return the state of all that the file names: what can be in use is, and the rest says why not.

    Raises ConfigurationError for a file that is no configuration at all.
    """
    try:
        return _states(Plugins(path))
    except ConfigurationError as error:
        states = _states(Plugins(path, lenient=True))
        if any(state.fault for state in states):
            return states
        # Such as a name that nobody has, of which a running binder would say nothing if somebody had it once.
        refused = PluginState(name="", source=str(path), version="", state="refused", fault=str(error))
        return [refused, *states]


def _states(plugins: Plugins) -> Sequence[PluginState]:
    with closing(plugins):
        plugins.build(Cache(), random.Random())  # noqa: S311 (draws nothing)
        return plugins.states()
