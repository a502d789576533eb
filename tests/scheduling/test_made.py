"""The end of a plugin, and of those that were made in vain."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

import pytest
from prometheus_client import REGISTRY

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.made import close_plugins
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework, build_frameworks
from webhook.scheduling.registry import Registry
from webhook.scheduling.testing import make_cache, make_framework


class Closing:
    """Counts its ends."""

    def __init__(self) -> None:
        self.closed = 0

    def filter_node(self, _pod: object, _node: object) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


class Factory:
    """Makes plugins and keeps them."""

    def __init__(self, make: Callable[[], object] = Closing) -> None:
        self._make = make
        self.made: list[Closing] = []

    def __call__(self, _args: object, _handle: object) -> object:
        plugin = self._make()
        if isinstance(plugin, Closing):
            self.made.append(plugin)
        return plugin

    @property
    def closed(self) -> list[int]:
        return [each.closed for each in self.made]


def broken() -> object:
    raise RuntimeError("boom")


class NoPlugin(Closing):
    filter_node = 7  # type: ignore[assignment]  # no method, and so refused


def registry_of(**factories: Factory) -> Registry:
    registry = load_plugins()
    for name, factory in factories.items():
        registry.register(name, factory)
    return registry


def profile(*names: str, scheduler_name: str = "custom-scheduler") -> Profile:
    enabled = tuple(PluginRef(name=name) for name in names)
    return Profile(
        scheduler_name=scheduler_name,
        plugins=PluginsConfig(multi_point=PluginSetConfig(enabled=enabled)),
    )


def build(names: Profile, registry: Registry, previous: Framework | None = None) -> Framework:
    return build_framework(names, registry, make_cache(), random.Random(0), previous=previous)


def failures(plugin: str) -> float:
    return REGISTRY.get_sample_value("custom_scheduler_plugin_failures_total", {"plugin": plugin}) or 0.0


def test_a_framework_closes_its_plugins_and_minds_none_that_have_nothing_to_close() -> None:
    closing = Closing()

    make_framework(make_cache(), Closing=closing).close()

    assert closing.closed == 1


def test_an_object_that_was_given_out_twice_is_closed_once() -> None:
    closing = Closing()
    frameworks = [make_framework(make_cache(), Closing=closing) for _ in range(2)]

    close_plugins([framework.plugins.made["Closing"] for framework in frameworks])

    assert closing.closed == 1


def test_an_object_that_is_still_in_use_under_another_make_is_not_closed() -> None:
    closing = Closing()
    old, new = (make_framework(make_cache(), Closing=closing).plugins.made["Closing"] for _ in range(2))

    close_plugins([old], but=[new])

    assert closing.closed == 0


class Raises(Closing):
    def close(self) -> None:
        raise SystemExit("not so")


class NoMethod(Closing):
    """Loses its method only later: one that never was a method is refused with the others."""

    def lose(self) -> None:
        self.close = 7  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("plugin", [Raises(), NoMethod()])
def test_an_end_that_fails_is_logged_and_counted_and_the_others_are_closed_all_the_same(
    plugin: Closing, caplog: pytest.LogCaptureFixture
) -> None:
    other = Closing()
    framework = make_framework(make_cache(), Failing=plugin, Other=other)
    before = failures("Failing")
    if isinstance(plugin, NoMethod):
        plugin.lose()

    framework.close()

    assert failures("Failing") == before + 1
    assert caplog.messages == ["plugin Failing raised in close"]
    assert other.closed == 1


def test_a_close_that_is_no_method_is_refused_like_any_other() -> None:
    class Wrong(Closing):
        close = 7  # type: ignore[assignment]

    with pytest.raises(ConfigurationError, match="plugin Wrong: close is no method"):
        build(profile("Wrong"), registry_of(Wrong=Factory(Wrong)))


def test_a_method_that_is_nearly_close_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    class Misspelt:
        def filter_node(self, _pod: object, _node: object) -> None:
            pass

        def closes(self) -> None:
            pass

    caplog.set_level(logging.WARNING)
    make_framework(make_cache(), Misspelt=Misspelt())

    assert caplog.messages[0].endswith("nothing calls its closes; is it meant to be close?")


def test_what_was_made_before_a_build_failed_is_closed() -> None:
    first = Factory()

    with pytest.raises(ConfigurationError):
        build(profile("First", "Broken"), registry_of(First=first, Broken=Factory(broken)))

    assert first.closed == [1]


def test_what_was_taken_over_before_a_build_failed_goes_on() -> None:
    first = Factory()
    registry = registry_of(First=first, Broken=Factory(broken))
    running = build(profile("First"), registry)

    with pytest.raises(ConfigurationError):
        build(profile("First", "Broken"), registry, running)

    assert first.closed == [0]


def test_what_is_made_and_then_refused_is_closed() -> None:
    factory = Factory(NoPlugin)

    with pytest.raises(ConfigurationError, match="filter_node is no method"):
        build(profile("Refused"), registry_of(Refused=factory))

    assert factory.closed == [1]


def test_what_was_made_for_the_profiles_before_the_one_that_fails_is_closed() -> None:
    first = Factory()
    registry = registry_of(First=first, Broken=Factory(broken))
    profiles = [profile("First"), profile("Broken", scheduler_name="other")]

    with pytest.raises(ConfigurationError):
        build_frameworks(profiles, registry, make_cache(), random.Random(0))

    assert first.closed == [1]
