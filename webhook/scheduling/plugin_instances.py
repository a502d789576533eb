"""The plugins of one profile as objects: made by their factories, and looked at before anything depends on them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from webhook.errors import ConfigurationError
from webhook.scheduling.config import Profile
from webhook.scheduling.containment import PluginError, ask, described, faults
from webhook.scheduling.events import ClusterEvent, ClusterEventWithHint
from webhook.scheduling.loading import loading
from webhook.scheduling.made import Made
from webhook.scheduling.plugin import (
    BindPlugin,
    ClosePlugin,
    EventsPlugin,
    FilterPlugin,
    Handle,
    Local,
    LocalPlugin,
    NormalizePlugin,
    PermitPlugin,
    PerNodeFilterPlugin,
    PerNodeScorePlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from webhook.scheduling.registry import Registration, Registry

__all__ = ["EXTENSION_POINTS", "PluginInstances"]

# By the field of PluginsConfig and of PluginSet.
EXTENSION_POINTS: Mapping[str, type] = {
    "pre_enqueue": PreEnqueuePlugin,
    "queue_sort": QueueSortPlugin,
    "pre_filter": PreFilterPlugin,
    "filter": FilterPlugin,
    "post_filter": PostFilterPlugin,
    "pre_score": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "pre_bind": PreBindPlugin,
    "bind": BindPlugin,
    "post_bind": PostBindPlugin,
}
_SOME_OF_THESE = (*EXTENSION_POINTS.values(), PerNodeFilterPlugin, PerNodeScorePlugin)
_ALSO_LOOKED_FOR = (NormalizePlugin, EventsPlugin, LocalPlugin, ClosePlugin)


def _methods(*protocols: type) -> frozenset[str]:
    return frozenset(
        method
        for protocol in protocols
        for method, promised in vars(protocol).items()
        if inspect.isfunction(promised) and not method.startswith("_")
    )


_METHODS = _methods(*_SOME_OF_THESE, *_ALSO_LOOKED_FOR)

log = logging.getLogger("custom_scheduler.scheduling")


class PluginInstances:
    """Makes each plugin of a profile once, when it is asked for. Those that are alike in `before` are taken over.

    All methods raise ConfigurationError for what a plugin does wrong.
    """

    def __init__(
        self, profile: Profile, registry: Registry, handle: Handle, before: Mapping[str, Made]
    ) -> None:
        self.made: dict[str, Made] = {}
        self._registry = registry
        self._handle = handle
        self._before = before
        self._args = {config.name: config.args for config in profile.plugin_config}

    def get(self, name: str) -> object:
        """Return the plugin of that name."""
        if name not in self.made:
            registration = self._registry.get(name)
            args = self._args.get(name, {})
            before = self._before.get(name)
            if before is None or (before.registration.factory, before.args) != (registration.factory, args):
                before = self._make(registration, args)
            self.made[name] = before
        return self.made[name].plugin

    def normalizing(self) -> dict[str, NormalizePlugin]:
        """Return those that normalize their scores."""
        return {
            name: each.plugin for name, each in self.made.items() if isinstance(each.plugin, NormalizePlugin)
        }

    def events(self) -> dict[str, tuple[ClusterEventWithHint, ...]]:
        """Return what each plugin that says so waits for."""
        events: dict[str, tuple[ClusterEventWithHint, ...]] = {}
        for name, each in self.made.items():
            if isinstance(each.plugin, EventsPlugin):
                try:
                    answer: object = ask(name, "events_to_register", each.plugin.events_to_register)
                except PluginError as error:
                    raise ConfigurationError(str(error)) from error
                if not isinstance(answer, tuple) or not all(
                    isinstance(event, ClusterEvent | ClusterEventWithHint) for event in answer
                ):
                    raise ConfigurationError(
                        f"plugin {name}: events_to_register: expected a tuple of ClusterEvent or ClusterEventWithHint"
                    )
                events[name] = tuple(
                    ClusterEventWithHint(event) if isinstance(event, ClusterEvent) else event
                    for event in answer
                )
        return events

    def local(self) -> dict[str, Local]:
        """Return the plugins that look at each node by itself, and at what of it; a PreFilter or PreScore looks at more.

        Of those built in we know that it looks at the pod alone.
        """
        found: dict[str, Local] = {}
        for name, each in self.made.items():
            if isinstance(each.plugin, LocalPlugin):
                if not isinstance(each.plugin.local, Local):
                    raise ConfigurationError(
                        f"plugin {name}: local: expected a Local, got {each.plugin.local!r}"
                    )
                looks_at_more = isinstance(each.plugin, PreFilterPlugin | PreScorePlugin)
                if each.registration.is_built_in or not looks_at_more:
                    found[name] = each.plugin.local
        return found

    def _make(self, registration: Registration, args: Mapping[str, Any]) -> Made:
        name = registration.name
        try:
            with loading(f"plugin {name} from {registration.source}"):
                made = Made(registration, args, registration.factory(args, self._handle))
            try:
                # To look at it may run code of its own.
                _check(registration, made.plugin)
            except BaseException:
                made.close()
                raise
        except ConfigurationError:
            raise
        except faults() as error:
            raise ConfigurationError(
                f"plugin {name} from {registration.source} can't be made: {described(error)}"
            ) from error
        return made


def _check(registration: Registration, plugin: object) -> None:
    """Raise ConfigurationError for what is no plugin, and whatever the plugin raises when it is looked at."""
    name = registration.name
    if hasattr(plugin, "filter") and not isinstance(plugin, FilterPlugin):
        raise ConfigurationError(f"plugin {name} has filter, but no reasons to give for it")
    if not isinstance(plugin, _SOME_OF_THESE):
        raise ConfigurationError(
            f"plugin {name} from {registration.source} implements no extension point: "
            f"it has none of the methods {', '.join(sorted(_methods(*_SOME_OF_THESE)))}"
        )
    for protocol in (*_SOME_OF_THESE, *_ALSO_LOOKED_FOR):
        if isinstance(plugin, protocol):
            _check_signatures(name, plugin, protocol)
    _tell_of_misspelt(registration, plugin)


def _tell_of_misspelt(registration: Registration, plugin: object) -> None:
    has = {method for method in dir(type(plugin)) if not method.startswith("_")}
    for method in sorted(has - _METHODS):
        for meant in get_close_matches(method, _METHODS - has, n=1, cutoff=0.85):
            log.warning(
                "plugin %s from %s: nothing calls its %s; is it meant to be %s?",
                registration.name,
                registration.source,
                method,
                meant,
            )


def _check_signatures(name: str, plugin: object, protocol: type) -> None:
    """Raise ConfigurationError for a method that can't be called as the protocol says."""
    for method, promised in vars(protocol).items():
        if method.startswith("_") or not inspect.isfunction(promised):
            continue
        given = getattr(plugin, method)
        if not callable(given):
            raise ConfigurationError(f"plugin {name}: {method} is no method, but {given!r}")
        expected = [each for each in inspect.signature(promised).parameters if each != "self"]
        try:
            signature = inspect.signature(given)
        except (TypeError, ValueError):
            continue  # one that Python knows nothing of, as those written in C
        try:
            signature.bind(*expected)
        except TypeError as error:
            raise ConfigurationError(
                f"plugin {name}: {method}{signature} can't be called with ({', '.join(expected)}): {error}"
            ) from None
