from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.config import PluginSource
from webhook.scheduling.plugin_manager import PluginManager
from webhook.scheduling.testing import make_handle

PLUGIN = """
from webhook.scheduling.registry import plugin

@plugin("{name}")
class Mine:
    def score_node(self, pod, node):
        return {score}
"""

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_module_of_others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in modules():
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.startswith("custom_scheduler_plugins.")]:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(file: str, name: str, score: int = 1) -> Path:
        path = tmp_path / file
        path.write_text(PLUGIN.format(name=name, score=score))
        return path

    return write_file


@pytest.fixture
def sources(tmp_path: Path) -> list[PluginSource]:
    return [PluginSource(directory=str(tmp_path))]


def score(manager: PluginManager, name: str) -> int:
    made = manager.registry.get(name).factory({}, make_handle())
    answer: int = made.score_node(None, None)  # type: ignore[attr-defined]
    return answer


def modules() -> set[str]:
    return {name for name in sys.modules if name.startswith("custom_scheduler_plugins.")}


def test_a_file_that_comes_is_loaded(write: Write, sources: list[PluginSource]) -> None:
    manager = PluginManager(sources)

    write("a.py", "Acme")

    assert manager.refresh(sources)
    assert "Acme" in manager.registry


def test_a_file_that_goes_is_unloaded_with_its_module(write: Write, sources: list[PluginSource]) -> None:
    path = write("a.py", "Acme")
    manager = PluginManager(sources)

    path.unlink()

    assert manager.refresh(sources)
    assert "Acme" not in manager.registry
    assert not modules()


def test_a_file_that_changes_replaces_what_it_was(write: Write, sources: list[PluginSource]) -> None:
    write("a.py", "Acme", 1)
    manager = PluginManager(sources)

    write("a.py", "Acme", 2)

    assert manager.refresh(sources)
    assert score(manager, "Acme") == 2
    assert len(modules()) == 1


def test_nothing_new_is_no_news(write: Write, sources: list[PluginSource]) -> None:
    write("a.py", "Acme")
    manager = PluginManager(sources)
    registry = manager.registry

    assert not manager.refresh(sources)
    assert manager.registry is registry


def test_what_has_not_changed_is_not_imported_again(write: Write, sources: list[PluginSource]) -> None:
    write("a.py", "Acme")
    manager = PluginManager(sources)
    before = manager.registry.get("Acme")

    write("b.py", "Other")
    manager.refresh(sources)

    assert manager.registry.get("Acme").factory is before.factory


@pytest.fixture
def base(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that registers Base."""
    (tmp_path / "library").mkdir()
    write("library/acme_base.py", "Base")
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    yield "acme_base"
    sys.modules.pop("acme_base", None)


def test_the_plugins_of_an_imported_module_outlive_a_change_of_who_imports_it(
    write: Write, sources: list[PluginSource], base: str
) -> None:
    path = write("g.py", "Acme")
    text = f"import {base}\n{path.read_text()}"
    path.write_text(text)
    manager = PluginManager(sources)
    before = manager.registry.get("Base")

    for changed in (text + "# a comment", "def", text):
        path.write_text(changed)
        manager.refresh(sources)
        assert manager.registry.get("Base") == before
    path.rename(path.with_name("h.py"))
    manager.refresh(sources)
    assert manager.registry.get("Base") == before


def test_a_file_that_failed_after_an_import_finds_the_plugins_of_that_module_when_mended(
    write: Write, sources: list[PluginSource], base: str
) -> None:
    manager = PluginManager(sources)
    path = write("g.py", "Acme")
    good = path.read_text()
    path.write_text(f"import {base}\n1 / 0")
    manager.refresh(sources)

    path.write_text(f"import {base}\n{good}")
    manager.refresh(sources)

    assert {"Acme", "Base"} <= {each.name for each in manager.registry}


@pytest.mark.parametrize("text", ["1 / 0", "def", "x = 1", PLUGIN.format(name="NodeLabel", score=2)])
def test_a_change_that_is_refused_leaves_what_ran_before(
    write: Write, sources: list[PluginSource], text: str
) -> None:
    path = write("a.py", "Acme", 1)
    manager = PluginManager(sources)
    version = manager.units[0].version

    path.write_text(text)

    assert manager.refresh(sources)
    (unit,) = manager.units
    assert score(manager, "Acme") == 1
    assert (unit.plugins, unit.version) == (("Acme",), version)
    assert unit.fault.startswith(f"plugin file {path}")
    assert len(modules()) == 1


def test_a_refused_file_is_loaded_once_it_is_mended(write: Write, sources: list[PluginSource]) -> None:
    path = write("a.py", "Acme", 1)
    manager = PluginManager(sources)
    path.write_text("def")
    manager.refresh(sources)

    write("a.py", "Acme", 2)
    manager.refresh(sources)

    assert (score(manager, "Acme"), manager.units[0].fault) == (2, "")


def test_a_name_is_taken_by_who_comes_first_until_it_goes(write: Write, sources: list[PluginSource]) -> None:
    first = write("a.py", "Acme", 1)
    manager = PluginManager(sources)
    write("b.py", "Acme", 2)
    manager.refresh(sources)
    assert score(manager, "Acme") == 1
    assert "already registered" in manager.units[1].fault

    first.unlink()
    manager.refresh(sources)

    assert score(manager, "Acme") == 2
    assert [unit.fault for unit in manager.units] == [""]


def test_what_was_loaded_first_may_lose_its_name_to_an_earlier_source(
    write: Write, sources: list[PluginSource]
) -> None:
    write("b.py", "Acme", 2)
    manager = PluginManager(sources)

    write("a.py", "Acme", 1)
    manager.refresh(sources)

    assert score(manager, "Acme") == 1
    assert "already registered" in manager.units[1].fault


def test_a_directory_that_is_gone_changes_nothing(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    write("plugins/a.py", "Acme")
    sources = [PluginSource(directory=str(folder))]
    manager = PluginManager(sources)

    folder.rename(tmp_path / "elsewhere")

    with pytest.raises(ConfigurationError, match="is not there"):
        manager.refresh(sources)
    assert "Acme" in manager.registry


def test_files_are_followed_through_the_links_of_a_mounted_configmap(tmp_path: Path) -> None:
    for name, value in (("first", 1), ("second", 2)):
        (tmp_path / f"..{name}").mkdir()
        (tmp_path / f"..{name}" / "a.py").write_text(PLUGIN.format(name="Acme", score=value))
    (tmp_path / "..data").symlink_to("..first")
    (tmp_path / "a.py").symlink_to("..data/a.py")
    sources = [PluginSource(directory=str(tmp_path))]
    manager = PluginManager(sources)

    (tmp_path / "..new").symlink_to("..second")
    (tmp_path / "..new").rename(tmp_path / "..data")
    manager.refresh(sources)

    assert score(manager, "Acme") == 2


def test_a_hundred_reloads_leave_nothing_behind(write: Write, sources: list[PluginSource]) -> None:
    write("a.py", "Acme", 0)
    manager = PluginManager(sources)
    first = weakref.ref(manager.registry.get("Acme").factory)

    for number in range(1, 101):
        write("a.py", "Acme", number)
        manager.refresh(sources)

    gc.collect()
    assert first() is None
    assert len(modules()) == 1


def test_a_file_that_is_no_plugin_stops_the_start(write: Write, sources: list[PluginSource]) -> None:
    write("a.py", "Acme").write_text("def")

    with pytest.raises(ConfigurationError, match=r"plugin file .*a\.py can't be imported: SyntaxError"):
        PluginManager(sources)
