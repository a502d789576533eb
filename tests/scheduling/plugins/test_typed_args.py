from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugins.node_resources_fit import NodeResourcesFit
from webhook.scheduling.testing import make_handle

VERSION = {"apiVersion": "kubescheduler.config.k8s.io/v1"}
KIND = {"kind": "NodeResourcesFitArgs"}


def make(name: str, args: dict[str, Any]) -> object:
    return load_plugins().get(name).factory(args, make_handle())


@pytest.mark.parametrize("typed", [{}, {**VERSION, **KIND}, VERSION, KIND])
def test_arguments_may_say_the_type_that_they_have_for_kube_scheduler(typed: dict[str, str]) -> None:
    args = {**typed, "ignoredResources": ["example.com/gpu"]}

    assert isinstance(make("NodeResourcesFit", args), NodeResourcesFit)


def test_a_plugin_without_arguments_takes_their_type_all_the_same() -> None:
    assert make("NodeName", {**VERSION, "kind": "NodeNameArgs"})


@pytest.mark.parametrize(
    ("typed", "got"),
    [
        ({**VERSION, "kind": "NodeAffinityArgs"}, "kind NodeAffinityArgs of kubescheduler.config.k8s.io/v1"),
        ({"apiVersion": "v1", **KIND}, "kind NodeResourcesFitArgs of v1"),
        ({**VERSION, "kind": 7}, "kind 7 of kubescheduler.config.k8s.io/v1"),
        ({"apiVersion": None, **KIND}, "kind NodeResourcesFitArgs of None"),
    ],
)
def test_another_type_is_refused_by_name(typed: dict[str, Any], got: str) -> None:
    expected = "expected kind NodeResourcesFitArgs of kubescheduler.config.k8s.io"

    with pytest.raises(ConfigurationError, match=f"^arguments of NodeResourcesFit: {expected}, got {got}; "):
        make("NodeResourcesFit", typed)


def test_other_faults_are_told_as_without_a_type() -> None:
    with pytest.raises(ConfigurationError, match=r"^arguments of NodeResourcesFit: .*unknown field `wrong`"):
        make("NodeResourcesFit", {**VERSION, **KIND, "wrong": 1})


def test_what_a_plugin_says_of_itself_is_its_own() -> None:
    assert (NodeResourcesFit.__doc__ or "nothing") in load_plugins().get("NodeResourcesFit").documentation
