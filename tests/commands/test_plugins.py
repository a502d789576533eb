from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from webhook import cli
from webhook.serving.ops import OpsServer

PLUGIN = '''
"""Likes nodes that are calm."""
from webhook.scheduling.registry import plugin

@plugin("Calm")
class Calm:
    """Args: `enoughPods`."""

    def __init__(self, args, handle):
        self.enough = args.get("enoughPods", 50)

    def filter_node(self, pod, node):
        return None

    def score_node(self, pod, node):
        return 1
'''
CONFIGURATION = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{{directory: {directory}}}]
profiles:
- schedulerName: custom-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: Calm, weight: 2}}]}}}}
  pluginConfig: [{{name: Calm, args: {{enoughPods: 20}}}}]
- schedulerName: plain
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "calm.py").write_text(PLUGIN)
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION.format(directory=tmp_path))
    yield file
    for name in [name for name in sys.modules if name.startswith("custom_scheduler_plugins.")]:
        del sys.modules[name]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.main, ["plugins", *map(str, arguments)])


def test_all_plugins_are_listed_with_their_source_and_state(configuration: Path) -> None:
    result = run("list", "--scheduler-config", configuration)

    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert result.exit_code == 0
    assert f"in use      plugin file {configuration.parent / 'calm.py'}" in lines["Calm"]
    assert lines["NodeLabel"].split()[1:4] == ["registered", "built", "in"]


def test_the_list_can_be_read_by_a_program(configuration: Path) -> None:
    listed = json.loads(run("list", "--scheduler-config", configuration, "-o", "json").stdout)

    (calm,) = [each for each in listed if each["name"] == "Calm"]
    assert calm["state"] == "in use"
    assert len(calm["version"]) == 12


def test_one_plugin_is_described_with_how_profiles_use_it(configuration: Path) -> None:
    result = run("describe", "Calm", "--scheduler-config", configuration)

    assert result.exit_code == 0
    for line in (
        "Calm, in use",
        "Likes nodes that are calm.",
        "Args: `enoughPods`.",
        "Profile custom-scheduler",
    ):
        assert line in result.stdout
    assert "at filter, score" in result.stdout
    assert "weight 2" in result.stdout
    assert 'arguments {"enoughPods":20}' in result.stdout
    assert "Profile plain" not in result.stdout


def test_the_arguments_of_a_built_in_plugin_are_in_its_description() -> None:
    assert "Args: `labels`" in run("describe", "NodeLabel").stdout


def test_a_description_can_be_read_by_a_program(configuration: Path) -> None:
    described = json.loads(run("describe", "Calm", "--scheduler-config", configuration, "-o", "json").stdout)

    assert described["uses"] == [
        {
            "profile": "custom-scheduler",
            "extensionPoints": ["filter", "score"],
            "weight": 2,
            "args": {"enoughPods": 20},
        }
    ]


def test_a_plugin_that_is_not_there_is_named() -> None:
    result = run("describe", "Nobody")

    assert (result.exit_code, "no plugin is called Nobody" in result.stderr) == (2, True)


CALM = {
    "name": "Calm",
    "source": "plugin file calm.py",
    "version": "abc",
    "state": "suspended",
    "fault": "10 decisions in a row have failed",
    "timed_calls": 4,
    "seconds": 0.002,
    "over_budget": 1,
    "failures": 10,
    "text": "Likes nodes that are calm.",
    "uses": [{"profile": "custom-scheduler", "extensionPoints": ["filter"], "weight": None, "args": {}}],
}
REFUSED = {
    "name": "",
    "source": "/etc/scheduler.yaml",
    "version": "",
    "state": "refused",
    "fault": "/etc/scheduler.yaml: no plugin is called Nobody",
}


@contextmanager
def ops_server(told: list[dict[str, Any]]) -> Iterator[int]:
    """A binder's ops port that tells this of its plugins."""
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    server = OpsServer(
        listener,
        not_ready=list,
        metrics=bytes,
        component="binder",
        documents={"/plugins": lambda: json.dumps(told).encode()},
    )
    server.start()
    yield port
    server.close()


@pytest.fixture
def ops_port() -> Iterator[int]:
    """A binder's ops port that tells of one plugin which has been suspended."""
    with ops_server([CALM]) as port:
        yield port


def test_a_running_binder_is_asked_by_its_ops_port(ops_port: int) -> None:
    result = run("list", "--from", f"http://127.0.0.1:{ops_port}")

    names, calm, fault = result.stdout.splitlines()
    assert result.exit_code == 1
    assert calm.split() == ["Calm", "suspended", "plugin", "file", "calm.py", "abc", "4", "0.500", "1", "10"]
    assert names.split() == ["NAME", "STATE", "SOURCE", "VERSION", "TIMED", "MS", "SLOW", "FAILED"]
    assert fault == "Calm: 10 decisions in a row have failed"


def test_a_refused_configuration_of_a_running_binder_is_a_row_and_exit_code_1() -> None:
    with ops_server([REFUSED]) as port:
        result = run("list", "--from", f"http://127.0.0.1:{port}")

    _, row, fault = result.stdout.splitlines()
    assert result.exit_code == 1
    assert row.split()[:3] == ["-", "refused", "/etc/scheduler.yaml"]
    assert fault.endswith("no plugin is called Nobody")


def test_a_plugin_of_a_running_binder_is_described_with_its_fault_and_its_counts(ops_port: int) -> None:
    result = run("describe", "Calm", "--from", f"http://127.0.0.1:{ops_port}")

    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Calm, suspended",
        "From plugin file calm.py, version abc",
        "Fault: 10 decisions in a row have failed",
        "Timed 4 calls, 0.500 ms each, slow 1, failed 10",
        "",
        "Likes nodes that are calm.",
        "",
        "Profile custom-scheduler",
        "  at filter",
    ]


def test_a_description_has_for_programs_what_the_list_has(ops_port: int) -> None:
    address = f"http://127.0.0.1:{ops_port}"

    described = json.loads(run("describe", "Calm", "--from", address, "-o", "json").stdout)

    assert [described] == json.loads(run("list", "--from", address, "-o", "json").stdout) == [CALM]


@pytest.fixture
def broken(configuration: Path) -> Path:
    """A file that can't be imported, beside one that can."""
    file = configuration.parent / "broken.py"
    file.write_text("def")
    return file


def test_a_file_that_is_refused_is_listed_beside_those_that_are_not(
    configuration: Path, broken: Path
) -> None:
    result = run("list", "--scheduler-config", configuration)

    rows = [line.split()[:2] for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert ["Calm", "in"] in rows
    assert ["-", "refused"] in rows
    assert f"{broken} can't be imported: SyntaxError" in result.stdout
    assert result.stderr == ""


def test_a_plugin_beside_a_file_that_is_refused_is_described(configuration: Path, broken: Path) -> None:
    result = run("describe", "Calm", "--scheduler-config", configuration)

    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "Calm, in use")


def test_profiles_may_name_what_a_refused_file_would_bring(configuration: Path, broken: Path) -> None:
    text = configuration.read_text().replace("{name: Calm, weight: 2}", "{name: Calm}, {name: Lost}")
    configuration.write_text(text)

    listed = json.loads(run("list", "--scheduler-config", configuration, "-o", "json").stdout)

    assert [each["state"] for each in listed if each["name"] == "Calm"] == ["in use"]
    assert [each["source"] for each in listed if each["fault"]] == [f"plugin file {broken}"]


@pytest.mark.parametrize(
    ("old", "new", "fault", "state"),
    [
        (
            "{name: Calm, weight",
            "{name: Nobody}, {name: Calm, weight",
            "no plugin is called Nobody",
            "in use",
        ),
        (
            "- schedulerName: plain",
            "- schedulerName: plain\n  pluginConfig: [{name: NodeResourcesFit, args: {wrong: 1}}]",
            "arguments of NodeResourcesFit",
            "registered",
        ),
    ],
)
def test_a_configuration_that_is_refused_is_listed_with_the_plugins_that_are_there(
    configuration: Path, old: str, new: str, fault: str, state: str
) -> None:
    configuration.write_text(configuration.read_text().replace(old, new))

    result = run("list", "--scheduler-config", configuration, "-o", "json")

    listed = json.loads(result.stdout)
    (refused,) = [each for each in listed if each["fault"]]
    assert result.exit_code == 1
    assert (refused["source"], fault in refused["fault"]) == (str(configuration), True)
    assert [each["state"] for each in listed if each["name"] == "Calm"] == [state]


def test_a_file_that_is_no_configuration_is_a_line(configuration: Path) -> None:
    configuration.write_text("kind: Nonsense")

    result = run("list", "--scheduler-config", configuration)

    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "nonsense://", "http://"])
def test_an_address_where_no_binder_is_is_a_line(address: str) -> None:
    result = run("list", "--from", address)

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "give the ops port of a binder" in result.stderr


def test_a_server_that_is_no_binder_is_a_line(ops_port: int) -> None:
    result = run("list", "--from", f"http://127.0.0.1:{ops_port}/healthz")

    assert result.exit_code == 2
    assert "is no binder's ops port (answered 404)" in result.stderr


@pytest.mark.parametrize("command", [["list"], ["describe", "Calm"]])
def test_the_two_ways_to_ask_exclude_each_other(command: list[str], configuration: Path) -> None:
    result = run(*command, "--scheduler-config", configuration, "--from", "http://127.0.0.1:1")

    assert (result.exit_code, "choose one of them" in result.stderr) == (2, True)
