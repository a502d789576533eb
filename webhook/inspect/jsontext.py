"""JSON values one after another as located values, as `kubectl get -o json` and `jq -c` write them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any

from webhook.inspect.located import Unreadable

__all__ = ["JsonValue", "parse_json"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NEWLINE = re.compile(r"\n")
_DECODER = JSONDecoder()


class _Text:
    """The whole text, and where its lines end."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self._first_line = first_line
        self._newlines = [match.start() for match in _NEWLINE.finditer(text)]

    def line(self, position: int) -> int:
        return self._first_line + bisect_right(self._newlines, position)

    def skip_space(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def skip_comma(self, position: int) -> int:
        position = self.skip_space(position)
        return self.skip_space(position + 1) if self.text[position] == "," else position

    def read(self, position: int) -> tuple[JsonValue, int]:
        """Return the value at `position`, which is known to be JSON, and where it ends."""
        value, end = _DECODER.raw_decode(self.text, position)
        return JsonValue(self, position, value), end


class JsonValue:
    """A value of a JSON text."""

    __slots__ = ("_start", "_text", "_value")

    def __init__(self, text: _Text, start: int, value: Any) -> None:
        self._text = text
        self._start = start
        self._value = value

    @property
    def line(self) -> int:
        """The line that the value begins in, from 1."""
        return self._text.line(self._start)

    def member(self, key: str) -> JsonValue | None:
        """Return the value of `key`; None where this is no mapping or has no such key."""
        if not isinstance(self._value, dict) or key not in self._value:
            return None
        # Of a key that is there twice the last one counts, as in the decoded value.
        return dict(self._members())[key]

    def elements(self) -> Sequence[JsonValue] | None:
        """Return the entries of a sequence; None where this is none."""
        return list(self._elements()) if isinstance(self._value, list) else None

    def value(self) -> Any:
        """Return the value as plain dictionaries, lists and scalars."""
        return self._value

    def _members(self) -> Iterator[tuple[str, JsonValue]]:
        text = self._text
        position = text.skip_space(self._start + 1)
        while text.text[position] == '"':
            key, position = text.read(position)
            colon = text.skip_space(position)
            value, position = text.read(text.skip_space(colon + 1))
            yield key.value(), value
            position = text.skip_comma(position)

    def _elements(self) -> Iterator[JsonValue]:
        text = self._text
        position = text.skip_space(self._start + 1)
        while text.text[position] != "]":
            value, position = text.read(position)
            yield value
            position = text.skip_comma(position)


def parse_json(text: str, *, first_line: int = 1) -> Iterator[JsonValue]:
    """Yield the values in `text`, which starts in `first_line` of its file.

    Raises Unreadable, after the values that can be read.
    """
    whole = _Text(text, first_line)
    position = whole.skip_space(0)
    while position < len(text):
        try:
            value, position = whole.read(position)
        except JSONDecodeError as error:
            raise Unreadable(whole.line(error.pos), f"is not JSON: {error.msg}") from None
        except ValueError:
            raise Unreadable(whole.line(position), "has a number that is too long") from None
        except RecursionError:
            raise Unreadable(whole.line(position), "is nested too deeply") from None
        yield value
        position = whole.skip_space(position)
