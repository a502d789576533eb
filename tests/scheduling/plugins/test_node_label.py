from __future__ import annotations

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.plugins.node_label import NodeLabel
from webhook.scheduling.testing import make_cache, make_handle, make_node, make_pod, run_filter

CACHE = make_cache(
    make_node("both", labels={"custom": "", "disk": "ssd"}),
    make_node("one", labels={"custom": "x"}),
    make_node("none"),
)


def test_nodes_without_the_label_custom_are_rejected_by_default() -> None:
    plugin = NodeLabel({}, make_handle())

    assert run_filter(plugin, make_pod(), CACHE) == {
        "none": ["node(s) didn't have the required label(s) custom"]
    }


def test_all_configured_labels_must_be_there() -> None:
    plugin = NodeLabel({"labels": ["custom", "disk"]}, make_handle())

    assert set(run_filter(plugin, make_pod(), CACHE)) == {"one", "none"}


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"labels": "custom"}, "labels: Expected `array`, got `str`"),
        ({"labels": []}, "labels"),
        ({"labels": [""]}, r"labels\[0\]"),
        ({"label": ["custom"]}, "unknown field `label`"),
    ],
)
def test_wrong_arguments_are_named(args: dict[str, object], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"arguments of NodeLabel: .*{fault}"):
        NodeLabel(args, make_handle())
