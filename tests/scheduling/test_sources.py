from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import DEFAULT_PLUGINS
from webhook.scheduling.testing import make_handle

PLUGIN = """
from dataclasses import dataclass
from webhook.scheduling.registry import plugin

@plugin("{name}")
@dataclass
class Mine:
    weight: int = 1
    def score_node(self, pod, node):
        return self.weight
"""
PLAIN = """
from webhook.scheduling.registry import plugin

@plugin("{name}")
class Mine:
    def score_node(self, pod, node):
        return 1
"""

Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _forget_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write_file


def test_the_built_in_plugins_are_there() -> None:
    registry = load_plugins()

    assert {ref.name for ref in DEFAULT_PLUGINS} | {"NodeLabel", "MemoryUsage"} == {
        each.name for each in registry
    }


def test_a_module_registers_its_plugins(write: Write) -> None:
    write("acme_algorithms.py", PLAIN.format(name="Acme"))

    registration = load_plugins([PluginSource(module="acme_algorithms")]).get("Acme")

    assert registration.source == "acme_algorithms"
    assert hasattr(registration.factory({}, make_handle()), "score_node")


def test_the_files_of_a_directory_register_theirs(write: Write) -> None:
    first = write("one/same.py", PLAIN.format(name="One"))
    second = write("two/same.py", "from __future__ import annotations\n" + PLAIN.format(name="Two"))
    write("one/readme.txt", "not Python")

    registry = load_plugins([PluginSource(directory=str(path.parent)) for path in (first, second)])

    assert "One" in registry
    assert "Two" in registry


def test_a_file_may_define_dataclasses(write: Write) -> None:
    text = "from __future__ import annotations\n" + PLUGIN.format(name="Typed").replace(
        '@plugin("Typed")\n', ""
    )
    path = write("plugins/typed.py", text + '\nplugin("Typed")(lambda args, handle: Mine(**args))\n')

    registry = load_plugins([PluginSource(directory=str(path.parent))])

    assert registry.get("Typed").factory({"weight": 5}, make_handle()).weight == 5  # type: ignore[attr-defined]


def test_an_empty_directory_is_fine(tmp_path: Path) -> None:
    assert len(load_plugins([PluginSource(directory=str(tmp_path))])) == len(load_plugins())


def distribution(write: Write, target: str) -> None:
    write("acme_dist.py", PLAIN.format(name="Decorated") + "\ndef make(args, handle):\n    return Mine()\n")
    write("acme-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    write("acme-1.0.dist-info/entry_points.txt", f"[acme.plugins]\n{target}\n")


def test_entry_points_name_factories(write: Write) -> None:
    distribution(write, "Made = acme_dist:make")

    registry = load_plugins([PluginSource(entry_points="acme.plugins")])

    assert registry.get("Made").source == "entry point Made of acme.plugins"
    assert hasattr(registry.get("Made").factory({}, make_handle()), "score_node")


def test_an_entry_point_may_name_a_decorated_class(write: Write) -> None:
    distribution(write, "Decorated = acme_dist:Mine")

    registry = load_plugins([PluginSource(entry_points="acme.plugins")])

    assert hasattr(registry.get("Decorated").factory({}, make_handle()), "score_node")


def test_an_entry_point_that_leads_nowhere_is_named(write: Write) -> None:
    distribution(write, "Lost = acme_dist:gone")

    with pytest.raises(
        ConfigurationError, match=r"entry point Lost of acme\.plugins can't be imported: AttributeError"
    ):
        load_plugins([PluginSource(entry_points="acme.plugins")])


def test_several_entry_points_may_name_plugins_of_one_module(write: Write) -> None:
    distribution(write, "Decorated = acme_dist:Mine\nOther = acme_dist:Other")
    with (write("acme_dist.py", PLAIN.format(name="Decorated"))).open("a") as file:
        file.write(PLAIN.format(name="Other").replace("Mine", "Other"))

    registry = load_plugins([PluginSource(entry_points="acme.plugins")])

    assert {"Decorated", "Other"} <= {each.name for each in registry}


@pytest.mark.parametrize("order", [("acme_base", "acme_gpu"), ("acme_gpu", "acme_base")])
def test_modules_may_import_each_other_in_any_order(write: Write, order: tuple[str, ...]) -> None:
    write("acme_base.py", PLAIN.format(name="Base"))
    write("acme_gpu.py", "import acme_base" + PLAIN.format(name="Gpu"))

    registry = load_plugins([PluginSource(module=each) for each in order])

    assert {"Base", "Gpu"} <= {each.name for each in registry}


def test_a_package_brings_the_plugins_of_its_modules_whoever_imported_it_before(write: Write) -> None:
    write("acme/__init__.py", "from acme import gpu")
    write("acme/gpu.py", PLAIN.format(name="Gpu"))
    path = write("plugins/a.py", "import acme" + PLAIN.format(name="Mine"))
    sources = [PluginSource(directory=str(path.parent)), PluginSource(module="acme")]

    for _ in range(2):
        assert {"Gpu", "Mine"} <= {each.name for each in load_plugins(sources)}


def test_a_module_may_gather_plugins_from_others_whoever_imported_them_before(write: Write) -> None:
    write("acme_gpu.py", PLAIN.format(name="Gpu"))
    write("acme_all.py", "from acme_gpu import Mine")
    sources = [PluginSource(module="acme_gpu"), PluginSource(module="acme_all")]

    for _ in range(2):
        assert "Gpu" in load_plugins(sources)


def test_a_factory_from_elsewhere_belongs_to_who_registers_it(write: Write) -> None:
    write(
        "acme_made.py",
        "from functools import partial\nfrom webhook.scheduling.registry import register_plugin\n"
        "register_plugin('Made', partial(print))",
    )

    for _ in range(2):
        assert "Made" in load_plugins([PluginSource(module="acme_made")])
    assert "Made" not in load_plugins()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1", r'registers no plugin; decorate one with @plugin\("Name"\)'),
        ("1 / 0", "can't be imported: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "can't be imported: SystemExit: 0"),
        ("import asyncio; raise asyncio.CancelledError", "can't be imported: CancelledError"),
        ("raise type('Mute', (Exception,), {'__str__': lambda _self: 1 / 0})", "can't be imported: Mute"),
        ("def", "can't be imported: SyntaxError"),
        (
            PLAIN.format(name="NodeLabel"),
            "plugin NodeLabel is already registered by webhook.scheduling",
        ),
        (PLAIN.format(name=""), "a plugin needs a name"),
    ],
)
def test_a_file_or_module_that_brings_no_plugin_is_refused_with_the_reason(
    write: Write, text: str, fault: str
) -> None:
    path = write("broken_plugins/broken.py", text)

    with pytest.raises(ConfigurationError, match=rf"plugin file .*broken\.py:? .*{fault}"):
        load_plugins([PluginSource(directory=str(path.parent))])
    with pytest.raises(ConfigurationError, match=rf"module broken_plugins\.broken:? .*{fault}"):
        load_plugins([PluginSource(module="broken_plugins.broken")])


@pytest.mark.parametrize(
    ("name", "text"),
    [("__init__.py", ""), ("a.py", "from .other import x"), ("a.py", "from . import x")],
)
def test_files_that_belong_together_are_told_to_become_a_package(write: Write, name: str, text: str) -> None:
    path = write(f"plugins/{name}", text)

    with pytest.raises(
        ConfigurationError, match=rf"^plugin file {path}: .*a package .*name that as `module:`$"
    ):
        load_plugins([PluginSource(directory=str(path.parent))])


def test_a_file_that_failed_leaves_no_module_behind(write: Write) -> None:
    path = write("plugins/broken.py", "1 / 0")
    before = set(sys.modules)

    with pytest.raises(ConfigurationError):
        load_plugins([PluginSource(directory=str(path.parent))])

    assert not {name for name in set(sys.modules) - before if "broken" in name}


def test_sources_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="module acme_nowhere can't be imported: ModuleNotFoundError"
    ):
        load_plugins([PluginSource(module="acme_nowhere")])
    with pytest.raises(ConfigurationError, match=r"plugin directory .*nowhere is not there"):
        load_plugins([PluginSource(directory=str(tmp_path / "nowhere"))])
