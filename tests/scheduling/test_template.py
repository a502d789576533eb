"""docs/template/my_plugin.py is a plugin that works, and has no more than it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.testing import (
    make_cache,
    make_framework,
    make_handle,
    make_node,
    make_pod,
    run_filter,
    run_score,
)

TEMPLATE = Path(__file__).parents[2] / "docs/template"


@pytest.fixture(autouse=True)
def _no_module_left() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("custom_scheduler_plugins.")]:
        del sys.modules[name]


def made(**args: Any) -> object:
    registry = load_plugins([PluginSource(directory=str(TEMPLATE))])
    return registry.get("MyPlugin").factory(args, make_handle())


def test_the_template_rejects_and_ranks() -> None:
    pods = [make_pod(f"p{number}", node="busy") for number in range(3)]
    cache = make_cache(make_node("busy"), make_node("calm"), pods=pods)

    assert run_filter(made(enoughPods=3), make_pod(), cache) == {"busy": ["node(s) had enough pods already"]}
    assert run_score(made(), make_pod(), cache) == {"busy": 97, "calm": 100}


def test_the_template_fits_into_a_profile() -> None:
    cache = make_cache(make_node("only"))

    assert make_framework(cache, MyPlugin=made()).schedule(make_pod()).node_name == "only"  # type: ignore[union-attr]


def test_the_template_refuses_arguments_that_it_does_not_know() -> None:
    with pytest.raises(ConfigurationError, match="arguments of MyPlugin"):
        made(enough=3)
