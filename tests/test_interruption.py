"""Ctrl-C, and `kubectl delete pod`, before a command has taken over what they send."""

from __future__ import annotations

import configparser
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import eventually

MODULE = [sys.executable, "-m", "webhook"]
SCRIPT = [sys.executable, "-c", "from webhook.__main__ import main; main()"]

WAITS = """
import threading
import click
from webhook import cli
from webhook.__main__ import main

@cli.main.command()
def waits() -> None:
    try:
        click.echo("waiting")
        threading.Event().wait()
    finally:
        click.echo("cleaned up")

main()
"""


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def catches(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Return whether a handler for this signal is installed; proc(5), SigCgt."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_the_console_script_is_what_handles_signals() -> None:
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[1] / "setup.cfg")

    script = setup["options.entry_points"]["console_scripts"].strip()

    assert script == "custom-scheduler = webhook.__main__:main"


@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("milliseconds", [0, 30, 100, 300])
def test_a_program_that_is_still_starting_ends_without_a_word(
    program: list[str], number: signal.Signals, code: int, milliseconds: int
) -> None:
    # It imports for about half a second, and then waits for its standard input.
    with started(*program, "check", "-") as process:
        eventually(lambda: catches(process, signal.SIGTERM), "the handlers are installed")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(milliseconds / 1000)
        process.send_signal(number)
        told = process.communicate(timeout=20)

    assert (process.returncode, *told) == (code, "", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_interrupted_cleans_up(number: signal.Signals, code: int) -> None:
    with started(sys.executable, "-c", WAITS, "waits") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        told = process.communicate(timeout=20)

    assert (process.returncode, *told) == (code, "cleaned up\n", "")
