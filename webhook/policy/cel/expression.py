"""CEL as text: literals that nothing in a policy can break out of, and the few forms that the export composes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from string import Formatter

import msgspec

__all__ = ["Expression", "Text", "Variable", "all_of", "listed", "literal", "object_literal", "text"]


class Expression(str):
    """A CEL expression, which stands in others without parentheses; any other string is a text."""

    __slots__ = ()


class Text:
    """A text of which some parts are known only when a request is judged."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts

    @property
    def expression(self) -> Expression:
        """The CEL expression that concatenates the parts."""
        return Expression(
            " + ".join(
                part if isinstance(part, Expression) else literal(part) for part in _merged(self.parts)
            )
        )


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a policy's `variables`, which other expressions read as `variables.NAME`."""

    name: str
    expression: str


def text(template: str, **holes: str | Text) -> Text:
    """A `str.format` template with its holes filled by texts and expressions."""
    parts: list[str] = []
    for before, hole, _, _ in Formatter().parse(template):
        parts.append(before)
        if hole is not None:
            filled = holes[hole]
            parts.extend(filled.parts if isinstance(filled, Text) else (filled,))
    return Text(*parts)


def literal(value: str) -> Expression:
    """A CEL string literal: JSON's escapes are among CEL's, except those of surrogates, which are left out."""
    return Expression(json.dumps(value, ensure_ascii=False))


def listed(expressions: Iterable[str], *, lines: bool = False) -> Expression:
    """A CEL list of expressions, each in a line of its own if so wanted."""
    if lines:
        return Expression("[\n  " + ",\n  ".join(expressions) + "\n]")
    return Expression(f"[{', '.join(expressions)}]")


def all_of(*conditions: str) -> Expression:
    """The conjunction of conditions that bind no looser than `&&` themselves."""
    return Expression(" && ".join(filter(None, conditions)))


def object_literal(kind: str, value: object) -> Expression:
    """A JSON value as CEL: mappings become objects of the type `kind` and of its fields' types.

    CEL's own maps can't mix types, and a policy's patches take these objects in their place.
    """
    if isinstance(value, Mapping):
        fields = (f"{name}: {object_literal(f'{kind}.{name}', item)}" for name, item in value.items())
        return Expression(f"{kind}{{{', '.join(fields)}}}")
    if isinstance(value, list | tuple):
        return listed(object_literal(kind, item) for item in value)
    return literal(value) if isinstance(value, str) else Expression(value)


def _merged(parts: Iterable[str]) -> list[str]:
    merged: list[str] = []
    for part in filter(None, parts):
        if merged and not isinstance(part, Expression) and not isinstance(merged[-1], Expression):
            merged[-1] += part
        else:
            merged.append(part)
    return merged
