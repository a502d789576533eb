from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginConfig, PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.testing import make_cache

CACHE = make_cache()


class Keeper:
    """A plugin that keeps something."""

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self.args = args

    def score_node(self, _pod: object, _node: object) -> float:
        return 0


def build(
    factory: Callable[..., object], *, args: Mapping[str, Any] | None = None, **options: Any
) -> Framework:
    registry = load_plugins()
    registry.register("Keeper", factory)
    enabled = PluginsConfig(multi_point=PluginSetConfig(enabled=(PluginRef(name="Keeper"),)))
    config = (PluginConfig(name="Keeper", args=dict(args or {})),)
    profile = Profile(plugins=enabled, plugin_config=config)
    return build_framework(profile, registry, CACHE, random.Random(0), **options)


def keeper(framework: Framework) -> object:
    return framework.plugins.made["Keeper"].plugin


def test_a_plugin_that_is_the_same_goes_on_with_what_it_keeps() -> None:
    first = build(Keeper, args={"a": 1})

    assert keeper(build(Keeper, args={"a": 1}, previous=first)) is keeper(first)


def test_a_plugin_with_other_arguments_is_made_anew() -> None:
    first = build(Keeper, args={"a": 1})

    assert keeper(build(Keeper, args={"a": 2}, previous=first)) is not keeper(first)


def test_a_plugin_from_another_factory_is_made_anew() -> None:
    class Replaced(Keeper):
        pass

    assert isinstance(keeper(build(Replaced, previous=build(Keeper))), Replaced)


class FilterWithoutNode:
    def filter_node(self, _pod: object) -> str | None:
        return None


class NormalizeWithMore(Keeper):
    def normalize_score(self, _pod: object, _scores: object, _more: object) -> object:
        return None


class NotCallable:
    score_node = 7


class Generous(Keeper):
    def score_node(self, *_anything: object, **_else: object) -> float:
        return 0


@pytest.mark.parametrize(
    ("factory", "fault"),
    [
        (
            lambda _args, _handle: FilterWithoutNode(),
            r"filter_node\(_pod: 'object'\).* can't be called with \(pod, node\): too many positional arguments",
        ),
        (NormalizeWithMore, r"normalize_score\(.*\).* can't be called with \(pod, scores\): missing .*_more"),
        (lambda _args, _handle: NotCallable(), r"score_node is no method"),
    ],
)
def test_a_method_with_a_wrong_signature_is_refused(factory: Callable[..., object], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"profile custom-scheduler: plugin Keeper: {fault}"):
        build(factory)


class ReasonsTooLate(Keeper):
    def filter(self, _pod: object, _nodes: object) -> object:
        return None

    @property
    def reasons(self) -> object:
        raise RuntimeError("nothing filtered yet")


class Proxy(Keeper):
    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


class LocalInVain(Keeper):
    @property
    def local(self) -> object:
        raise RuntimeError("who knows")


@pytest.mark.parametrize(
    ("factory", "fault"),
    [
        (ReasonsTooLate, "RuntimeError: nothing filtered yet"),
        (Proxy, "KeyError: 'filter'"),
        (LocalInVain, "RuntimeError: who knows"),
    ],
)
def test_a_plugin_that_cannot_be_looked_at_is_refused(factory: Callable[..., object], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"plugin Keeper from .* can't be made: {fault}"):
        build(factory)


def test_a_method_may_take_more_than_it_is_given() -> None:
    assert isinstance(keeper(build(Generous)), Generous)


def test_a_method_whose_name_is_nearly_one_that_is_called_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Misspelt(Keeper):
        def filter_nod(self, _pod: object, _node: object) -> None:
            pass

        def total(self) -> int:
            return 0

    build(Misspelt)

    (said,) = [record.getMessage() for record in caplog.records if "nothing calls" in record.getMessage()]
    assert said.startswith("plugin Keeper from ")
    assert said.endswith("nothing calls its filter_nod; is it meant to be filter_node?")
