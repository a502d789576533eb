"""One YAML document as located values, read as Kubernetes reads it.

Built from the parser's events in one pass: nothing recurses before depth and size are known, and an alias, which
Kubernetes allows, can't make a small text large.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import yaml

from webhook.inspect.located import Unreadable

__all__ = ["YamlValue", "parse_yaml"]

# A CustomResourceDefinition's schema is the deepest thing in manifests, some 60 levels.
MAX_DEPTH = 200
# With every alias written out. A Deployment has about a hundred values.
MAX_VALUES = 4_000_000

_SCALAR_TAG = "tag:yaml.org,2002:"
_STRING, _MERGE = f"{_SCALAR_TAG}str", f"{_SCALAR_TAG}merge"
# PyYAML reads 2026-01-31 as a date and = as a reference; Kubernetes takes both for strings.
_STRINGS_TOO = (f"{_SCALAR_TAG}timestamp", f"{_SCALAR_TAG}value")
_SHOWN_LENGTH = 40


class YamlValue:
    """A value of a YAML document: `content` holds values for a mapping or a sequence, else a scalar."""

    __slots__ = ("content", "line")

    def __init__(self, line: int, content: Any) -> None:
        self.line = line
        self.content = content

    def member(self, key: str) -> YamlValue | None:
        """Return the value of `key`; None where this is no mapping or has no such key."""
        return self.content.get(key) if isinstance(self.content, dict) else None

    def elements(self) -> Sequence[YamlValue] | None:
        """Return the entries of a sequence; None where this is none."""
        return self.content if isinstance(self.content, list) else None

    def value(self) -> Any:
        """Return the value as plain dictionaries, lists and scalars."""
        if isinstance(self.content, dict):
            return {key: member.value() for key, member in self.content.items()}
        if isinstance(self.content, list):
            return [element.value() for element in self.content]
        return self.content


def parse_yaml(text: str, *, first_line: int = 1) -> YamlValue | None:
    """Return the document in `text`, which starts in `first_line` of its file; None where it is empty.

    Raises Unreadable.
    """
    builder = _Builder(first_line)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # A fault at the end is told of the last line that has something in it.
        line = first_line + min(mark.line if mark else 0, text.rstrip().count("\n"))
        raise Unreadable(line, f"is not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise Unreadable(first_line, f"is not YAML: {str(error).splitlines()[0]}") from None
    return builder.root


class _Sequence:
    """A sequence whose end is still to come; `before` is how many values came before it."""

    def __init__(self, line: int, anchor: str | None, before: int) -> None:
        self.value = YamlValue(line, [])
        self.anchor = anchor
        self.before = before

    def add(self, child: YamlValue, *, is_merge: bool) -> None:  # noqa: ARG002 (only a mapping merges)
        self.value.content.append(child)

    def finish(self) -> None:
        """Nothing is left to do at the end."""


class _Mapping:
    """A mapping whose end is still to come; keys and values come in turns."""

    def __init__(self, line: int, anchor: str | None, before: int) -> None:
        self.value = YamlValue(line, {})
        self.anchor = anchor
        self.before = before
        self._key: str | None = None
        self._merging = False
        self._merged: list[YamlValue] = []

    def add(self, child: YamlValue, *, is_merge: bool) -> None:
        if self._merging:
            self._merged.extend(child.elements() or [child])
            self._merging = False
        elif self._key is not None:
            self.value.content[self._key] = child
            self._key = None
        elif is_merge:
            self._merging = True
        else:
            self._key = self._checked_key(child)

    def finish(self) -> None:
        # What is written out wins over what is merged, and an earlier merge over a later one.
        content = self.value.content
        for merged in self._merged:
            if not isinstance(merged.content, dict):
                raise Unreadable(merged.line, "merges what is no mapping")
            for key, member in merged.content.items():
                content.setdefault(key, member)

    def _checked_key(self, child: YamlValue) -> str:
        if isinstance(child.content, (dict, list)):
            raise Unreadable(child.line, "has a mapping or a list as a key")
        key = _key(child.content)
        if key in self.value.content:
            first = self.value.content[key].line
            raise Unreadable(child.line, f"has the key {key[:_SHOWN_LENGTH]!r} twice, first in line {first}")
        return key


class _Builder:
    """Takes a document's events; `root` is its value after the last."""

    def __init__(self, first_line: int) -> None:
        self.root: YamlValue | None = None
        self._first_line = first_line
        self._open: list[_Sequence | _Mapping] = []
        self._anchors: dict[str, tuple[YamlValue, int]] = {}  # and how many values it is
        self._values = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        line = self._first_line + (event.start_mark.line if event.start_mark else 0)
        match event:
            case yaml.ScalarEvent():
                self._take_scalar(event, line)
            case yaml.AliasEvent():
                value, size = self._aliased(event.anchor or "", line)
                self._count(size, line)
                self._place(value)
            case yaml.MappingStartEvent():
                self._begin(_Mapping(line, event.anchor, self._values), line)
            case yaml.SequenceStartEvent():
                self._begin(_Sequence(line, event.anchor, self._values), line)
            case yaml.CollectionEndEvent():
                self._end()
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise Unreadable(line, "begins another document")

    def _take_scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._count(1, line)
        if not self._open and event.implicit[0] and not event.value:
            return  # a document of comments, or of nothing
        tag = _tag(event)
        value = YamlValue(line, _scalar(tag, event.value, line) if tag != _MERGE else event.value)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._place(value, is_merge=tag == _MERGE)

    def _begin(self, collection: _Sequence | _Mapping, line: int) -> None:
        self._count(1, line)
        self._open.append(collection)
        if len(self._open) > MAX_DEPTH:
            raise Unreadable(line, f"is nested deeper than {MAX_DEPTH} levels")

    def _end(self) -> None:
        ended = self._open.pop()
        ended.finish()
        if ended.anchor:
            self._anchors[ended.anchor] = (ended.value, self._values - ended.before)
        self._place(ended.value)

    def _place(self, value: YamlValue, *, is_merge: bool = False) -> None:
        if self._open:
            self._open[-1].add(value, is_merge=is_merge)
        else:
            self.root = value

    def _aliased(self, anchor: str, line: int) -> tuple[YamlValue, int]:
        if any(each.anchor == anchor for each in self._open):
            raise Unreadable(line, f"has the alias *{anchor} inside of what it stands for")
        if anchor not in self._anchors:
            raise Unreadable(line, f"has the alias *{anchor}, and nothing before it is named so")
        return self._anchors[anchor]

    def _count(self, values: int, line: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise Unreadable(line, f"holds more than {MAX_VALUES:,} values, with its aliases written out")


class _Scalars(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """PyYAML's reading of scalars, without its parser."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)


_SCALARS = _Scalars()


def _tag(event: yaml.ScalarEvent) -> str:
    if event.tag and event.tag != "!":
        return event.tag
    return _plain_tag(event.value) if event.implicit[0] else _STRING


@lru_cache(maxsize=4096)
def _plain_tag(text: str) -> str:
    tag: str = _SCALARS.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # the stubs leave it so
    return _STRING if tag in _STRINGS_TOO else tag


def _scalar(tag: str, text: str, line: int) -> Any:
    if tag == _STRING:
        return text
    try:
        return _SCALARS.construct_document(yaml.ScalarNode(tag, text))
    except (yaml.YAMLError, ValueError, OverflowError):
        kind = tag.removeprefix(_SCALAR_TAG)
        raise Unreadable(line, f"has {text[:_SHOWN_LENGTH]!r}, which can't be read as {kind}") from None


def _key(scalar: Any) -> str:
    # As sigs.k8s.io/yaml turns them into JSON.
    match scalar:
        case bool():
            return "true" if scalar else "false"
        case None:
            return "null"
        case _:
            return str(scalar)
