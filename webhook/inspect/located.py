"""A value in a text, with the lines that it came from; YAML and JSON each have a form of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Located", "Unreadable", "text_of"]


class Unreadable(Exception):
    """A part of a text that holds no value: `line` counts from 1, the text says what is wrong there."""

    def __init__(self, line: int, fault: str) -> None:
        super().__init__(fault)
        self.line = line


class Located(Protocol):
    """A mapping, a sequence or a scalar of a text."""

    @property
    def line(self) -> int:
        """The line that the value begins in, from 1."""

    def member(self, key: str) -> Located | None:
        """Return the value of `key`; None where this is no mapping or has no such key."""

    def elements(self) -> Sequence[Located] | None:
        """Return the entries of a sequence; None where this is none."""

    def value(self) -> Any:
        """Return the value as plain dictionaries, lists and scalars."""


def text_of(value: Located | None) -> str:
    """Return the text of a string; empty for anything else, or nothing."""
    plain = value.value() if value is not None and value.elements() is None else None
    return plain if isinstance(plain, str) else ""
