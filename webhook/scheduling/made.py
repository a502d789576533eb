"""Plugins as objects: what each was made from, and its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.observe.plugin_metrics import FAILURES
from webhook.scheduling.containment import PluginError, ask
from webhook.scheduling.loading import loading
from webhook.scheduling.plugin import ClosePlugin
from webhook.scheduling.registry import Registration

__all__ = ["Made", "close_plugins"]


@dataclass(frozen=True, slots=True)
class Made:
    """A plugin, and what it was made from."""

    registration: Registration
    args: Mapping[str, Any]
    plugin: object

    def close(self) -> None:
        """Tell the plugin that nothing uses it any more, if it wants to know; a fault is logged and counted."""
        name = self.registration.name
        try:
            with loading(f"close of plugin {name} from {self.registration.source}"):
                # To look for the method may run code of its own.
                ask(name, "close", _close, self.plugin)
        except PluginError:
            FAILURES.labels(name).inc()


def close_plugins(made: Iterable[Made], *, but: Iterable[Made] = ()) -> None:
    """Close each of these once, except those that `but` has too: a factory may give the same object twice."""
    spared = {id(each.plugin) for each in but}
    for each in {id(each.plugin): each for each in made}.values():
        if id(each.plugin) not in spared:
            each.close()


def _close(plugin: object) -> None:
    if isinstance(plugin, ClosePlugin):
        plugin.close()
