from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.clocks import SetClock
from webhook.commands.terminal import Progress, Terminal


def shown(*, terminal: bool, after: float) -> str:
    clock = SetClock(0.0)
    screen = io.StringIO()
    progress = Progress(Console(file=screen, force_terminal=terminal, _environ={"TERM": "xterm"}), clock)
    clock.now = after
    list(progress.over(["a", "b"], "{} read"))
    progress.close()
    return screen.getvalue()


def test_what_takes_less_than_two_seconds_shows_no_progress() -> None:
    assert shown(terminal=True, after=1.9) == ""


def test_what_takes_longer_shows_it_and_takes_it_away() -> None:
    screen = shown(terminal=True, after=2.1)

    assert "2 read" in screen
    assert screen.endswith("\x1b[2K")


def test_progress_is_for_terminals_alone() -> None:
    assert shown(terminal=False, after=60) == ""


def test_a_file_gets_neither_colour_nor_broken_lines(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()

    terminal.line(("denied", "bold red"), ": " + "x" * 500)

    assert capsys.readouterr().out == "denied: " + "x" * 500 + "\n"


def test_what_would_move_the_cursor_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()

    terminal.line("a\x1b[2Jb", ("c\rd", "red"))
    terminal.fault("e\nf")

    told = capsys.readouterr()
    assert told.out == "a\ufffd[2Jbc\ufffdd\n"
    assert told.err == "Error: e\ufffdf\n"


def test_a_table_is_neither_cut_off_nor_wrapped_and_names_in_camel_case_take_several_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "n" * 300

    Terminal().table(["NODE"], [[name, ("1,000", "bold")]], numbers=["NodeResourcesFit"])

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["Node"], ["Resources"], ["NODE", "Fit"], [name, "1,000"]]


def test_what_would_move_the_cursor_is_replaced_in_a_table_too(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().table(["NODE"], [["a\x1b[2Jb\nc"]])

    assert capsys.readouterr().out.splitlines()[1].strip() == "a\ufffd[2Jb\ufffdc"
