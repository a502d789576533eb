from __future__ import annotations

import gc
import logging
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from tests.waiting import eventually
from webhook.binder.plugin_state import PluginState
from webhook.binder.plugins import Plugins
from webhook.binder.retirement import Retirement
from webhook.errors import ConfigurationError
from webhook.scheduling.framework import Framework
from webhook.scheduling.testing import make_cache, make_node, make_pod

ROOT = Path(__file__).parents[2]

PLUGIN = """
from webhook.scheduling.registry import plugin

@plugin("{name}")
class Mine:
    def __init__(self, args, handle):
        {init}

    def filter_node(self, pod, node):
        return {reason!r}
"""
CONFIGURATION = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources:
- directory: {directory}
profiles:
- schedulerName: custom-scheduler
  plugins:
    multiPoint: {{enabled: [{enabled}]}}
"""


class Place:
    """A folder with plugins and a configuration that names some of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "scheduler.yaml"
        self.directory = folder / "plugins"
        self.directory.mkdir()

    def write(self, file: str, name: str, reason: str | None = None, init: str = "pass") -> Path:
        path = self.directory / file
        path.write_text(PLUGIN.format(name=name, reason=reason, init=init))
        return path

    def enable(self, *names: str) -> None:
        enabled = ", ".join(f"{{name: {name}}}" for name in names)
        self.configuration.write_text(CONFIGURATION.format(directory=self.directory, enabled=enabled))

    def start(self) -> Plugins:
        plugins = Plugins(self.configuration)
        plugins.build(make_cache(make_node("node")), random.Random(0))
        return plugins


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path)
    for name in [name for name in sys.modules if name.startswith("custom_scheduler_plugins.")]:
        del sys.modules[name]


def said(frameworks: Mapping[str, Framework] | None) -> str:
    """What the profile says of a pod: nothing if it fits."""
    assert frameworks is not None, "nothing has changed"
    decision = frameworks["custom-scheduler"].schedule(make_pod())
    return getattr(decision, "message", "")


def test_nothing_changes_on_its_own(place: Place) -> None:
    place.write("a.py", "Acme")
    place.enable("Acme")

    assert place.start().poll() is None


def test_without_a_file_nothing_ever_changes() -> None:
    plugins = Plugins(None)
    plugins.build(make_cache(), random.Random(0))

    assert plugins.poll() is None


def test_a_plugin_that_is_replaced_decides_from_then_on(place: Place) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    plugins = place.start()

    place.write("a.py", "Acme", "new")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 new."


def test_only_what_has_changed_is_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.write("a.py", "Acme", "old")
    place.write("b.py", "Other")
    place.enable("Acme", "Other")
    plugins = place.start()
    caplog.set_level(logging.INFO)

    place.write("a.py", "Acme", "new")
    plugins.poll()

    assert caplog.messages == ["profile custom-scheduler: plugin Acme was made anew"]


def test_a_plugin_whose_file_goes_is_left_out(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    path = place.write("a.py", "Acme", "never")
    place.enable("Acme")
    plugins = place.start()
    caplog.set_level(logging.INFO)

    path.unlink()

    assert said(plugins.poll()) == ""
    assert "profile custom-scheduler: plugin Acme is not in use any more" in caplog.text


def test_a_plugin_whose_file_comes_back_is_in_use_again(place: Place) -> None:
    path = place.write("a.py", "Acme", "never")
    place.enable("Acme")
    plugins = place.start()
    path.unlink()
    plugins.poll()

    place.write("a.py", "Acme", "never")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 never."


def test_a_relative_directory_is_followed_beside_the_configuration_wherever_the_binder_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    place.configuration.write_text(place.configuration.read_text().replace(str(place.directory), "plugins"))
    monkeypatch.chdir("/")
    plugins = place.start()

    place.write("a.py", "Acme", "new")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 new."


def test_a_changed_configuration_takes_plugins_in_and_out(place: Place) -> None:
    place.write("a.py", "Acme", "acme")
    place.write("b.py", "Other", "other")
    place.enable("Acme")
    plugins = place.start()

    place.enable("Other")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 other."


def broken_file(place: Place) -> str:
    (place.directory / "a.py").write_text("def")
    return "can't be imported: SyntaxError"


def broken_factory(place: Place) -> str:
    place.write("a.py", "Acme", "new", init="1 / 0")
    return "plugin Acme .*can't be made: ZeroDivisionError"


def broken_configuration(place: Place) -> str:
    place.configuration.write_text("kind: Nonsense")
    return "scheduler.yaml"


def unknown_plugin(place: Place) -> str:
    place.enable("Acme", "Nobody")
    return "no plugin is called Nobody"


def other_profiles(place: Place) -> str:
    place.configuration.write_text(
        place.configuration.read_text().replace(": custom-scheduler\n", ": other\n")
    )
    return "profiles come and go only with a restart; running are custom-scheduler, the file has other"


def missing_folder(place: Place) -> str:
    place.directory.rename(place.folder / "elsewhere")
    return "is not there"


@pytest.mark.parametrize(
    "spoil",
    [broken_file, broken_factory, broken_configuration, unknown_plugin, other_profiles, missing_folder],
)
def test_what_is_wrong_is_told_once_and_what_ran_before_goes_on(
    place: Place, spoil: Callable[[Place], str], caplog: pytest.LogCaptureFixture
) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    plugins = place.start()

    fault = spoil(place)
    polled = [plugins.poll() for _ in range(3)]

    assert all(each is None or said(each) == "0/1 nodes are available: 1 old." for each in polled)
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    (error,) = errors
    assert re.search(fault, error)
    assert error.endswith("; what ran before goes on")


def gauge(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"custom_scheduler_{name}", labels)


@pytest.mark.parametrize("spoil", [broken_configuration, unknown_plugin, other_profiles, missing_folder])
def test_a_refused_configuration_has_a_state_for_as_long_as_it_stands(
    place: Place, spoil: Callable[[Place], str]
) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    plugins = place.start()

    fault = spoil(place)
    seen = []
    for _ in range(3):
        plugins.poll()
        seen += [each for each in plugins.states() if each.state == "refused"]

    assert [each.source for each in seen] == 3 * [str(place.configuration)]
    assert all(re.search(fault, each.fault) for each in seen)


def test_a_configuration_that_is_mended_is_refused_no_more(place: Place) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    plugins = place.start()
    place.enable("Acme", "Nobody")
    plugins.poll()

    place.enable("Acme")
    plugins.poll()

    assert [each for each in plugins.states() if each.fault] == []


@pytest.mark.parametrize("spoil", [broken_file, broken_factory, broken_configuration, unknown_plugin])
def test_a_gauge_tells_while_anything_that_files_say_is_refused(
    place: Place, spoil: Callable[[Place], str]
) -> None:
    file = place.write("a.py", "Acme", "old")
    place.enable("Acme")
    text = file.read_text()
    plugins = place.start()
    seen = []

    for change in (lambda: None, lambda: spoil(place), lambda: None):
        change()
        plugins.poll()
        seen.append(gauge("configuration_refused"))
    file.write_text(text)
    place.enable("Acme")
    plugins.poll()

    assert [*seen, gauge("configuration_refused")] == [0, 1, 1, 0]


def test_a_gauge_tells_while_a_plugin_is_suspended(place: Place) -> None:
    place.write("a.py", "Gauged")
    place.enable("Gauged")
    plugins = place.start()

    plugins.suspend("Gauged", "it failed")
    plugins.poll()
    suspended = gauge("plugin_suspended", plugin="Gauged")
    place.write("a.py", "Gauged", "mended")
    plugins.poll()

    assert (suspended, gauge("plugin_suspended", plugin="Gauged")) == (1, 0)


def test_the_same_faults_stop_a_start(place: Place) -> None:
    place.write("a.py", "Acme", init="1 / 0")
    place.enable("Acme")

    with pytest.raises(ConfigurationError, match="can't be made: ZeroDivisionError"):
        place.start()


def test_a_suspended_plugin_is_left_out_until_its_file_changes(place: Place) -> None:
    place.write("a.py", "Acme", "never")
    place.enable("Acme")
    plugins = place.start()

    assert plugins.suspend("Acme", "it failed")
    assert not plugins.suspend("Acme", "it failed again")
    assert said(plugins.poll()) == ""
    assert plugins.poll() is None
    place.write("a.py", "Acme", "mended")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 mended."


def state(plugins: Plugins, name: str) -> PluginState:
    (found,) = [each for each in plugins.states() if each.name == name]
    return found


def test_a_plugin_that_can_not_be_made_stops_no_other_change(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.write("a.py", "Acme", "old")
    place.write("b.py", "Other")
    place.enable("Acme", "Other")
    plugins = place.start()
    version = state(plugins, "Acme").version

    place.write("a.py", "Acme", "new", init="1 / 0")
    plugins.poll()

    acme = state(plugins, "Acme")
    assert (acme.state, acme.version) == ("in use", version)
    assert "can't be made: ZeroDivisionError" in acme.fault
    assert plugins.suspend("Other", "it failed")
    assert "Other" not in plugins_made(plugins.poll())
    assert state(plugins, "Other").state == "suspended"
    suspended = state(plugins, "Other").version
    place.write("b.py", "Other", "mended")
    assert reasons(plugins.poll()) == {"Acme": "old", "Other": "mended"}
    assert (state(plugins, "Other").state, state(plugins, "Other").fault) == ("in use", "")
    assert state(plugins, "Other").version != suspended
    assert plugins.poll() is None
    assert len([each for each in caplog.messages if each.endswith("what ran before goes on")]) == 1


def reasons(frameworks: Mapping[str, Framework] | None) -> dict[str, str]:
    """What each plugin of a file says."""
    assert frameworks is not None, "nothing has changed"
    made = frameworks["custom-scheduler"].plugins.made
    return {
        name: each.plugin.filter_node(None, None)
        for name, each in made.items()
        if hasattr(each.plugin, "filter_node")
    }


def plugins_made(frameworks: Mapping[str, Framework] | None) -> set[str]:
    assert frameworks is not None, "nothing has changed"
    return set(frameworks["custom-scheduler"].plugins.made)


def test_changes_that_come_together_are_taken_one_by_one_where_some_are_refused(place: Place) -> None:
    for name in ("Acme", "Bad", "Gone"):
        place.write(f"{name}.py", name, f"old {name}")
    place.enable("Acme", "Bad", "Gone")
    plugins = place.start()

    place.write("Acme.py", "Acme", "new Acme")
    place.write("Bad.py", "Bad", "new Bad", init="1 / 0")
    (place.directory / "Gone.py").unlink()
    place.write("New.py", "New", "new New")
    place.enable("Acme", "Bad", "New")

    assert reasons(plugins.poll()) == {"Acme": "new Acme", "Bad": "old Bad", "New": "new New"}
    assert "can't be made" in state(plugins, "Bad").fault
    assert plugins.poll() is None
    assert sum(name.startswith("custom_scheduler_plugins.") for name in sys.modules) == 3


@pytest.mark.parametrize("spoil", [broken_configuration, unknown_plugin, other_profiles])
def test_a_configuration_that_is_refused_stops_no_other_change(
    place: Place, spoil: Callable[[Place], str]
) -> None:
    place.write("a.py", "Acme", "old")
    place.write("b.py", "Other")
    place.enable("Acme", "Other")
    plugins = place.start()

    spoil(place)
    plugins.poll()
    place.write("a.py", "Acme", "new")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 new."
    assert plugins.suspend("Other", "it failed")
    assert "Other" not in plugins_made(plugins.poll())


def test_a_folder_that_is_gone_stops_no_suspension(place: Place) -> None:
    place.write("a.py", "Acme", "old")
    place.enable("Acme")
    plugins = place.start()

    missing_folder(place)
    plugins.suspend("Acme", "it failed")

    assert said(plugins.poll()) == ""


def test_a_suspended_plugin_that_can_not_be_made_again_stays_left_out(place: Place) -> None:
    place.write("a.py", "Acme", "acme", init=f"__import__('os').stat({str(place.configuration)!r} + '.ok')")
    Path(f"{place.configuration}.ok").touch()
    place.write("b.py", "Other", "old")
    place.enable("Acme", "Other")
    plugins = place.start()
    plugins.suspend("Acme", "it failed")
    plugins.poll()

    Path(f"{place.configuration}.ok").unlink()
    place.write("b.py", "Other", "new")

    assert said(plugins.poll()) == "0/1 nodes are available: 1 new."
    assert state(plugins, "Acme").state == "suspended"
    assert "FileNotFoundError" in state(plugins, "Acme").fault


def test_a_plugin_that_the_profile_can_not_do_without_goes_on_and_says_so(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    path = place.write("a.py", "Sort", "never")
    path.write_text(
        path.read_text() + "\n    def sort_key(self, pod, queued_at):\n        return (queued_at,)\n"
    )
    place.enable("Sort")
    text = place.configuration.read_text()
    place.configuration.write_text(text.replace("enabled:", "disabled: [{name: PrioritySort}], enabled:"))
    plugins = place.start()

    for _ in range(2):
        assert plugins.suspend("Sort", "it failed")
        assert plugins.poll() is None

        sort = state(plugins, "Sort")
        assert sort.state == "in use"
        assert sort.fault.startswith("it failed; plugin Sort can't be left out: ")
    assert len([each for each in caplog.messages if "can't be left out" in each]) == 1
    path.unlink()
    plugins.poll()
    assert state(plugins, "Sort").state == "in use"
    assert "expected exactly one queueSort plugin" in state(plugins, "Sort").fault


def test_what_is_in_force_is_told_and_can_be_left_out_while_something_is_loaded(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("a.py", "Acme", "acme")
    place.write("b.py", "Other")
    place.enable("Acme", "Other")
    plugins = place.start()
    before = plugins.states()
    found: list[object] = []
    during(place, lambda: found.extend([plugins.states(), plugins.suspend("Acme", "it failed")]), monkeypatch)

    frameworks = plugins.poll()

    assert found == [before, True]
    assert "Acme" not in plugins_made(frameworks)


def during(place: Place, action: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have b.py call the action when it is imported."""
    monkeypatch.setattr(sys.modules[__name__], "within", action, raising=False)
    path = place.write("b.py", "Other")
    path.write_text(f"import sys; sys.modules[{__name__!r}].within()\n{path.read_text()}")
    return path


def test_a_load_that_takes_too_long_is_told_with_the_file(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.write("b.py", "Other")
    place.enable("Other")
    plugins = place.start()
    monkeypatch.setattr("webhook.scheduling.loading.PATIENCE_SECONDS", 0.01)
    found: list[PluginState] = []

    def wait() -> None:
        eventually(lambda: caplog.messages)
        found.extend(each for each in plugins.states() if each.state == "loading")

    path = during(place, wait, monkeypatch)

    plugins.poll()

    assert [(each.source, each.fault) for each in found] == [(f"plugin file {path}", "isn't done after 0 s")]
    assert f"and aren't done, now with plugin file {path}; until then no" in caplog.messages[0]
    assert not [each for each in plugins.states() if each.state == "loading"]


def test_a_plugin_that_takes_too_long_to_be_made_is_told_with_its_name(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.write("b.py", "Other")
    place.enable("Other")
    plugins = place.start()
    monkeypatch.setattr("webhook.scheduling.loading.PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(
        sys.modules[__name__], "within", lambda: eventually(lambda: caplog.messages), raising=False
    )
    place.write("b.py", "Other", init=f"import sys; sys.modules[{__name__!r}].within()")

    plugins.poll()

    assert "now with plugin Other from plugin file" in caplog.messages[0]


def test_built_in_plugins_are_never_left_out(place: Place) -> None:
    place.enable()

    assert not place.start().suspend("NodeResourcesFit", "it failed")


def test_the_state_of_each_plugin_is_told(place: Place) -> None:
    place.write("a.py", "Acme")
    place.write("b.py", "Spare")
    place.write("c.py", "Bad")
    place.enable("Acme", "Bad")
    plugins = place.start()
    plugins.suspend("Bad", "10 decisions in a row have failed")
    plugins.poll()
    (place.directory / "d.py").write_text("def")
    plugins.poll()
    plugins.suspend("Bad", "10 decisions in a row have failed")
    plugins.poll()

    states = {each.name or each.source: (each.state, each.fault) for each in plugins.states()}

    assert states["NodeResourcesFit"] == ("in use", "")
    assert states["NodeLabel"] == ("registered", "")
    assert states["Acme"] == ("in use", "")
    assert states["Spare"] == ("registered", "")
    assert states["Bad"] == ("suspended", "10 decisions in a row have failed")
    state, fault = states[f"plugin file {place.directory / 'd.py'}"]
    assert state == "refused"
    assert "SyntaxError" in fault


def living_frameworks() -> int:
    gc.collect()
    return sum(isinstance(each, Framework) for each in gc.get_objects())


def test_a_hundred_reloads_leave_neither_frameworks_nor_modules_nor_threads_behind(place: Place) -> None:
    place.write("a.py", "Acme", "0")
    place.enable("Acme")
    plugins = place.start()
    threads, frameworks = threading.active_count(), living_frameworks()

    for number in range(1, 101):
        place.write("a.py", "Acme", str(number))
        assert said(plugins.poll()) == f"0/1 nodes are available: 1 {number}."

    assert living_frameworks() <= frameworks
    assert sum(name.startswith("custom_scheduler_plugins.") for name in sys.modules) == 1
    assert threading.active_count() == threads


def replaced(before: Mapping[str, Framework], plugins: Plugins) -> Mapping[str, Framework]:
    """Poll, and do with what comes what the scheduling thread does where no pod is on its way."""
    now = plugins.poll()
    assert now is not None, "nothing has changed"
    retirement = Retirement(plugins.release)
    retirement.replaced(before, now)
    retirement.settle(now.values)
    return now


# It has a thread from its `__init__` to its `close`.
THREADED = """
import threading
from webhook.scheduling.registry import plugin

@plugin("{name}")
class Mine:
    def __init__(self, args, handle):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.over.wait, name="of plugin {version}", daemon=True)
        self.thread.start()

    def filter_node(self, pod, node):
        return None

    def close(self):
        self.over.set()
        self.thread.join()
"""


def threads() -> list[str]:
    """The threads of plugins that are alive."""
    return sorted(each.name for each in threading.enumerate() if each.name.startswith("of plugin"))


def threaded(place: Place, version: int, *, name: str = "Acme") -> None:
    (place.directory / f"{name.lower()}.py").write_text(THREADED.format(name=name, version=version))


def test_of_a_plugin_with_a_thread_there_is_one_whatever_the_number_of_reloads(place: Place) -> None:
    threaded(place, 0)
    place.enable("Acme")
    plugins = Plugins(place.configuration)
    plugins.check()
    frameworks: Mapping[str, Framework] = plugins.build(make_cache(), random.Random(0))
    seen = []

    for version in range(1, 6):
        threaded(place, version)
        frameworks = replaced(frameworks, plugins)
        plugins.poll()
        seen.append(threads())
    plugins.close()

    assert seen == [[f"of plugin {version}"] for version in range(1, 6)]
    assert threads() == []


def test_what_is_made_for_a_check_is_closed_with_it(place: Place) -> None:
    threaded(place, 1)
    place.enable("Acme")

    Plugins(place.configuration).check()

    assert threads() == []


def test_a_plugin_that_is_replaced_is_closed_only_once_it_is_released(place: Place) -> None:
    threaded(place, 1)
    place.enable("Acme")
    plugins = place.start()

    threaded(place, 2)
    plugins.poll()
    plugins.poll()

    assert threads() == ["of plugin 1", "of plugin 2"]
    plugins.close()


def test_plugins_that_were_made_for_a_change_that_is_refused_are_closed(place: Place) -> None:
    threaded(place, 1)
    place.enable("Acme")
    plugins = place.start()

    threaded(place, 2)
    threaded(place, 3, name="Other")
    place.write("broken.py", "Broken", init="1 / 0")
    place.enable("Acme", "Other", "Broken")
    plugins.poll()

    # The configuration needs the plugin that can't be made, so only what needs it not is in force.
    made = [each for each in plugins.states() if each.state == "in use" and each.version]
    assert len(threads()) == len(made) + 1  # and the one that is replaced and not released
    plugins.close()
    assert threads() == []


def test_a_suspended_plugin_is_closed(place: Place) -> None:
    threaded(place, 1)
    place.enable("Acme")
    plugins = Plugins(place.configuration)
    frameworks = plugins.build(make_cache(), random.Random(0))

    plugins.suspend("Acme", "it failed")
    replaced(frameworks, plugins)
    plugins.poll()

    assert threads() == []


def test_a_hundred_reloads_cost_less_than_a_mebibyte(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.binder.reloads", str(tmp_path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

    assert 0 < int(told) < 1 << 20
