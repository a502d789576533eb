"""docs/algorithms.md names each extension point, and its examples are configurations."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec
import pytest

from webhook.scheduling.columns import Values
from webhook.scheduling.config import PluginsConfig, parse_configuration
from webhook.scheduling.events import Action, ClusterEvent, Happening, Resource
from webhook.scheduling.nodes import NodeInfo, Nodes
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugins.memory_usage import MemoryUsageArgs
from webhook.scheduling.plugins.node_label import NodeLabelArgs
from webhook.scheduling.profile import build_frameworks
from webhook.scheduling.queueing_hints import QueueingHints, QueueingStrategy
from webhook.scheduling.resources import incoming_requests
from webhook.scheduling.testing import make_cache, make_node, make_pod

GUIDE = (Path(__file__).parents[2] / "docs/algorithms.md").read_text()
EXAMPLES = [
    text
    for text in re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    if "SchedulerConfiguration" in text
]


def test_each_extension_point_has_a_row() -> None:
    points = set(re.findall(r"^\| `.*\| ([A-Z]\w+) \|", GUIDE, re.MULTILINE))
    known = {field.encode_name for field in msgspec.structs.fields(PluginsConfig)} - {"multiPoint"}

    assert {point[0].lower() + point[1:] for point in points} == known


def _what_a_plugin_sees() -> str:
    return GUIDE.partition("\n## What a plugin sees\n")[2].partition("\n## ")[0]


def test_what_a_plugin_sees_is_there() -> None:
    cache = make_cache(make_node("node-1"), pods=[make_pod("placed", node="node-1")])
    nodes = Nodes(cache.table)
    pod = make_pod(cpu="500m", memory="256Mi")
    seen = {"pod": pod, "node": nodes[0], "nodes": nodes, "incoming_requests": incoming_requests}
    cells = re.findall(r"^\| (`.*?) \| ", _what_a_plugin_sees(), re.MULTILINE)
    told = [expression for cell in cells for expression in re.findall("`(.*?)`", cell)]

    for expression in told:
        eval(expression, seen)  # noqa: S307 (of our own guide)
    members = {name for name in vars(NodeInfo) if not name.startswith("_")}
    assert members == set(re.findall(r"\bnode\.(\w+)", " ".join(told)))
    assert json.dumps(incoming_requests(pod)) in GUIDE
    for asked in re.findall(r"`\.(\w+)\(", _what_a_plugin_sees()):
        assert hasattr(Values, asked)


def _python(section: str) -> list[str]:
    text = GUIDE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_what_methods_return_is_where_the_guide_imports_it_from() -> None:
    (imports,) = _python("Extension points")

    exec(imports, {})  # noqa: S102 (of our own guide)


@pytest.mark.parametrize("kind", [Resource, Action])
def test_all_events_are_told(kind: type[Resource | Action]) -> None:
    table = GUIDE.partition("\n## Which events help\n")[2].partition("\n\nA hint")[0]
    told = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)*)`", table))

    assert set(kind.__members__) <= told
    assert told <= {*Resource.__members__, *Action.__members__}


def test_a_plugin_with_the_hint_of_the_guide_waits_for_nodes_that_say_when_they_were_bought() -> None:
    (methods,) = _python("Which events help")
    (imports,) = _python("Extension points")
    namespace: dict[str, Any] = {}
    exec(f"{imports}\nclass Newest:\n{indent(methods, '    ')}", namespace)  # noqa: S102 (of our own guide)
    hints = QueueingHints({"Newest": namespace["Newest"]().events_to_register()})

    def strategy(*, action: Action, **labels: str) -> QueueingStrategy:
        happening = Happening(ClusterEvent(Resource.NODE, action), None, make_node(labels=labels))
        return hints.strategy(make_pod(), {"Newest"}, set(), happening)

    assert strategy(action=Action.ADD) is QueueingStrategy.SKIP
    assert strategy(action=Action.ADD, bought="2029") is QueueingStrategy.AFTER_BACKOFF
    assert strategy(action=Action.UPDATE_NODE_TAINT, bought="2029") is QueueingStrategy.SKIP


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_configuration(example: str) -> None:
    parsed = parse_configuration(example, source="docs/algorithms.md")

    if not parsed.plugin_sources:
        assert build_frameworks(parsed.profiles, load_plugins(), make_cache(), random.Random(0))


def test_the_argument_of_node_label_is_told_with_its_default() -> None:
    told = re.findall(r"^\| `(labels)` \| `\[(.*)\]` \|", GUIDE, re.MULTILINE)

    assert told == [
        (field.encode_name, ", ".join(field.default)) for field in msgspec.structs.fields(NodeLabelArgs)
    ]


def test_the_defaults_of_memory_usage_are_told() -> None:
    told = dict(re.findall(r"^\| `(\w+Seconds)` \| (\d+) \|", GUIDE, re.MULTILINE))

    assert {field.encode_name: field.default for field in msgspec.structs.fields(MemoryUsageArgs)} == {
        name: float(value) for name, value in told.items()
    }
