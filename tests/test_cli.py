from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from webhook import cli
from webhook.cli import servers
from webhook.errors import CustomSchedulerError
from webhook.settings import BinderSettings, ServeSettings


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(leaves(cli.main))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_commands_help_has_an_example_of_that_command(path: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(cli.main, [*path, "--help"])

    assert answer.exit_code == 0
    assert f"Example: custom-scheduler {' '.join(path)}" in answer.output


def test_every_command_says_the_same_of_where_its_kubeconfig_comes_from() -> None:
    # As webhook.kube.config looks for it.
    texts = {
        option.help
        for command in COMMANDS.values()
        for option in command.params
        if isinstance(option, click.Option) and option.name == "kubeconfig"
    }

    assert texts == {"Default: $KUBECONFIG, the pod's own, ~/.kube/config."}


def test_a_setting_comes_from_the_environment_with_the_command_in_its_name() -> None:
    answer = CliRunner().invoke(
        cli.main, ["serve", "--policy", "absent.yaml"], env={"CUSTOM_SCHEDULER_SERVE_PORT": "not-a-port"}
    )

    assert answer.exit_code == 2
    assert "CUSTOM_SCHEDULER_SERVE_PORT" in answer.output or "--port" in answer.output


@pytest.mark.parametrize(
    ("command", "arguments", "settings"),
    [(servers.serve, ["--policy", "p.yaml"], ServeSettings), (servers.binder, [], BinderSettings)],
    ids=["serve", "binder"],
)
def test_what_is_not_given_is_what_the_settings_say(
    command: click.Command, arguments: list[str], settings: type[msgspec.Struct]
) -> None:
    given = command.make_context("test", arguments).params
    # These two follow from the others: see ServeSettings.checked.
    defaults = {
        field.name: field.default
        for field in msgspec.structs.fields(settings)
        if not field.required and field.name not in {"cert_mode", "binder"}
    }

    assert {name: given[name] for name in defaults} == defaults


def test_a_service_link_of_kubernetes_does_not_change_the_port() -> None:
    answer = CliRunner().invoke(
        cli.main,
        ["serve", "--policy", "absent.yaml", "--offline"],
        env={"CUSTOM_SCHEDULER_PORT": "tcp://10.96.12.1:443"},
    )

    assert "give --tls-cert and --tls-key" in answer.output
    assert "tcp://" not in answer.output


def test_a_fault_is_one_line_and_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    @cli.main.command("broken")
    def broken() -> None:
        raise CustomSchedulerError("policy p.yaml: expected a mapping; write one")

    try:
        answer = CliRunner().invoke(cli.main, ["broken"])
    finally:
        del cli.main.commands["broken"]

    assert (answer.exit_code, answer.output) == (2, "Error: policy p.yaml: expected a mapping; write one\n")


def test_a_name_in_a_fault_can_not_break_its_line_or_colour_the_terminal(tmp_path: Path) -> None:
    answer = CliRunner().invoke(cli.main, ["policy", "validate", str(tmp_path / "a\nb\x1b[31m\udce9")])

    assert answer.exit_code == 2
    assert "a\\nb\\x1b[31m\\udce9: can't be read" in answer.output
    assert answer.output.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--help"], ["policy", "validate", "manifests/base/policy.yaml"]])
def test_an_answer_that_can_not_be_written_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "webhook", *arguments],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
        )

    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in answer.stderr


def test_python_m_webhook_is_the_same_program() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "webhook", "--version"], check=True, capture_output=True, text=True, timeout=30
    )

    assert answer.stdout.startswith("custom-scheduler, version ")


def test_help_is_answered_without_loading_the_heavy_parts() -> None:
    program = "import sys, webhook.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=30
    ).stdout.split()

    assert not {"numpy", "kubernetes", "flask", "gunicorn", "cryptography", "prometheus_client"} & set(loaded)
