"""What the commands that inspect print: findings on standard output, faults and progress on standard error."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

__all__ = ["Cell", "Progress", "Terminal"]

_PATIENCE_SECONDS = 2.0

# Wider than any table: what is cut off can't be read, what is wrapped by the terminal can.
_ANY_WIDTH = 100_000
_WORD = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^A-Z]+|[A-Z]+")

T = TypeVar("T")
# A text, plain or with a style.
Cell: TypeAlias = str | tuple[str, str]


class Terminal:
    """Prints lines of text; color only on a terminal, and nothing that would move its cursor."""

    def __init__(self) -> None:
        self._out = Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)
        self._err = Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)

    def line(self, *parts: Cell) -> None:
        """Print parts, each plain or with a style, as one line."""
        self._out.print(Text.assemble(*map(_printable, parts)))

    def table(
        self, texts: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Sequence[str] = ()
    ) -> None:
        """Print columns of texts and then of numbers under their names; nothing is cut off or wrapped.

        Names in CamelCase are put in several lines, so that columns of numbers stay narrow.
        """
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in texts:
            table.add_column(name, no_wrap=True, vertical="bottom")
        for name in numbers:
            table.add_column("\n".join(_WORD.findall(name)), justify="right", no_wrap=True, vertical="bottom")
        for row in rows:
            table.add_row(*(Text.assemble(_printable(cell)) for cell in row))
        # A console of its own: one that has the terminal's width cuts off what doesn't fit.
        Console(file=sys.stdout, highlight=False, emoji=False, width=_ANY_WIDTH).print(table)

    def json(self, document: Any, *, indent: int | None = 2) -> None:
        """Print what a machine reads as JSON; in ASCII, as a name may hold what no encoding has, half of a pair."""
        separators = (",", ":") if indent is None else None
        self.data(json.dumps(msgspec.to_builtins(document), indent=indent, separators=separators))

    def data(self, text: str) -> None:
        """Print what a machine reads, as it is: in UTF-8, whatever people read here."""
        if sys.stdout:  # None where the shell closed it
            sys.stdout.flush()
            sys.stdout.buffer.write(f"{text}\n".encode())

    def fault(self, text: str) -> None:
        """Print one line about what could not be done."""
        self._err.print(Text.assemble(("Error: ", "bold red"), _printable(text)))

    def warning(self, text: str) -> None:
        """Print one line about what was done and may not have the effect that it was done for."""
        self._err.print(Text.assemble(("Warning: ", "bold yellow"), _printable(text)))

    def notes(self, texts: Iterable[str]) -> None:
        """Print a line about each thing that the answer leaves out."""
        for text in texts:
            self._err.print(Text.assemble(("Note: ", "yellow"), _printable(text)))

    def progress(self) -> Progress:
        """Return a display of progress, which shows where somebody watches and only when it takes long."""
        return Progress(self._err)


class Progress:
    """A line on a terminal that says how far a command has come, once it has taken two seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._begun = clock()
        self._status: Status | None = None

    def show(self, text: str) -> None:
        """Say how far it has come."""
        if not self._console.is_terminal or self._clock() - self._begun < _PATIENCE_SECONDS:
            return
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)

    def over(self, items: Iterable[T], told: str) -> Iterator[T]:
        """Yield the items while saying how many there were: `told` has a {} for their number."""
        for number, item in enumerate(items, start=1):
            self.show(told.format(f"{number:,}"))
            yield item

    def close(self) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def _printable(part: Cell) -> Cell:
    if isinstance(part, tuple):
        return _plain(part[0]), part[1]
    return _plain(part)


def _plain(text: str) -> str:
    # Names and values are another's: an escape sequence in one would be carried out by the terminal.
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
