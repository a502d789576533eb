"""What a person sees of the demo: headings, commands with their real output, and a summary."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

__all__ = ["Terminal"]


class Terminal:
    """Prints to standard output; color only where that is a terminal."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)

    def heading(self, text: str) -> None:
        """Start a step."""
        self._console.print()
        self._console.print(Text(text, style="bold"))

    def say(self, text: str) -> None:
        """Print an explanation."""
        self._console.print(Text(text))

    def command(self, *words: str) -> None:
        """Print a command as a person would type it."""
        self._console.print(Text(f"$ {shlex.join(words)}", style="cyan"))

    def output(self, text: str) -> None:
        """Print what a command printed, as it is."""
        if text:
            self._console.print(Text(text.rstrip("\n")))

    def result(self, text: str, *, good: bool) -> None:
        """Print one line of the summary."""
        mark, style = ("ok", "green") if good else ("FAILED", "bold red")
        self._console.print(Text(f"{mark:>6}  ", style=style) + Text(text))

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show that something takes a while, and how long it took."""
        started = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(text):
                yield
        else:
            yield
        self._console.print(Text(f"{text} ({time.monotonic() - started:.1f} s)", style="dim"))
