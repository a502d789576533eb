from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Handle
from webhook.scheduling.registry import Registry, collecting, default_registry, plugin, register_plugin
from webhook.scheduling.testing import make_handle


class Simple:
    def score_node(self, _pod: Pod, _node: NodeInfo) -> float:
        return 1


class Configurable(Simple):
    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self.args, self.handle = args, handle


def test_a_function_registers_its_plugin_by_name() -> None:
    registry = Registry()

    with collecting(registry):
        register_plugin("Mine", Configurable)

    made = registry.get("Mine").factory({"a": 1}, make_handle())
    assert isinstance(made, Configurable)
    assert made.args == {"a": 1}
    assert registry.get("Mine").source == __name__
    assert "Mine" not in default_registry


def test_a_class_without_arguments_can_be_decorated() -> None:
    registry = Registry()

    with collecting(registry):
        decorated = plugin("Mine")(Simple)

    assert decorated is Simple
    assert isinstance(registry.get("Mine").factory({}, make_handle()), Simple)
    with pytest.raises(ConfigurationError, match="plugin Mine takes no arguments, got a, b"):
        registry.get("Mine").factory({"b": 1, "a": 2}, make_handle())


def test_a_function_can_be_decorated() -> None:
    registry = Registry()

    with collecting(registry):

        @plugin("Mine")
        def factory(args: Mapping[str, Any], _handle: Handle) -> object:
            return Simple()

    assert isinstance(registry.get("Mine").factory({}, make_handle()), Simple)


def test_a_name_is_given_once() -> None:
    registry = Registry()
    registry.register("Mine", Configurable, source="here")

    with pytest.raises(ConfigurationError, match="plugin Mine from there is already registered by here"):
        registry.register("Mine", Configurable, source="there")


def test_a_plugin_needs_a_name_and_something_to_call() -> None:
    with pytest.raises(ConfigurationError, match="a plugin needs a name"):
        Registry().register("", Configurable)
    with pytest.raises(ConfigurationError, match="a plugin needs a name, got 5"):
        plugin(5)(Simple)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="plugin Mine: expected a factory to call, got 7"):
        Registry().register("Mine", 7)  # type: ignore[arg-type]


def test_an_unknown_name_is_told_with_those_that_exist() -> None:
    registry = Registry()
    registry.register("B", Configurable)
    registry.register("A", Configurable)

    with pytest.raises(ConfigurationError, match="no plugin is called C; registered are: A, B"):
        registry.get("C")
    with pytest.raises(ConfigurationError, match="registered are: none"):
        Registry().get("C")


def test_registrations_can_be_listed() -> None:
    registry = Registry()
    registry.register("A", Configurable, source="here")

    assert [(each.name, each.source) for each in registry] == [("A", "here")]
