"""One YAML document, read value by value, where each fault names the file, the line and the path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml

from webhook.errors import PolicyError

__all__ = ["Value", "open_document"]

# A ConfigMap holds no more than this; see k8s.io/kubernetes pkg/apis/core/validation MaxSecretSize.
MAX_BYTES = 1 << 20
# libyaml's composer recurses in C.
MAX_DEPTH = 32

_STRING, _INTEGER, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("str", "int", "null"))
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_SHOWN_LENGTH = 80

T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)


def open_document(text: str | bytes, *, source: str) -> Value:
    """The only document in `text`; aliases, tags of other languages and several documents are refused.

    `source` names the text in errors. Raises PolicyError.
    """
    if len(text) > MAX_BYTES:
        raise PolicyError(f"{source}: is larger than {MAX_BYTES} bytes; a policy is a page of YAML")
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        _refuse_unwanted(decoded, source)
        root = yaml.compose(decoded, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as error:
        raise PolicyError(f"{source}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"{mark.line + 1}:" if mark else ""
        raise PolicyError(f"{source}:{line} is not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise PolicyError(f"{source}: is not YAML: {reason}") from None
    if root is None:
        raise PolicyError(f"{source}: is empty; expected a PlacementPolicy")
    return Value(root, path="", source=source)


def _refuse_unwanted(text: str, source: str) -> None:
    # Works on the stream of events, which takes no memory per level, before anything recurses.
    documents = depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise PolicyError(f"{source}:{line}: has the alias *{event.anchor}; write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > MAX_DEPTH:
            raise PolicyError(f"{source}:{line}: is nested deeper than {MAX_DEPTH} levels")
        if documents > 1:
            raise PolicyError(f"{source}:{line}: starts a second document; keep one policy in a file")


class Value:
    """A value at a path of a document; each reader returns it in the wanted form or raises PolicyError."""

    __slots__ = ("_node", "_source", "path")

    def __init__(self, node: yaml.Node, *, path: str, source: str) -> None:
        self._node = node
        self._source = source
        self.path = path

    def refuse(self, expected: str) -> NoReturn:
        """Raise the error that names this value and what was expected of it."""
        self.fault(f"is {self._found()}; {expected}")

    def fault(self, text: str) -> NoReturn:
        """Raise the error that says `text` of this value."""
        raise PolicyError(f"{self._place()} {self.path or 'the document'} {text}")

    def refuse_missing(self, key: str) -> NoReturn:
        """Raise the error for a mapping that lacks `key`."""
        raise PolicyError(f"{self._place()} {_join(self.path, key)} is missing")

    def text(self) -> str:
        """A string."""
        if not isinstance(self._node, yaml.ScalarNode):
            self.refuse("expected a string")
        if self._node.tag != _STRING:
            self.refuse("expected a string: put it in quotes if it is meant so")
        return self._node.value  # type: ignore[no-any-return]  # a scalar's value is its text

    def checked(self, check: Callable[[str], bool], expected: str) -> str:
        """A string that keeps `check`; `expected` is the rule in words."""
        text = self.text()
        if not check(text):
            self.refuse(f"expected {expected}")
        return text

    def choice(self, allowed: tuple[str, ...]) -> str:
        """One of `allowed`, letter for letter.

        The text decides, not YAML's type: YAML 1.1 reads a plain `Off` as false.
        """
        if not isinstance(self._node, yaml.ScalarNode) or self._node.value not in allowed:
            self.refuse(f"allowed: {', '.join(allowed)}")
        return self._node.value  # type: ignore[no-any-return]  # a scalar's value is its text

    def integer(self, lowest: int, highest: int) -> int:
        """A decimal integer within the bounds."""
        if (
            not isinstance(self._node, yaml.ScalarNode)
            or self._node.tag != _INTEGER
            or not _DECIMAL.fullmatch(self._node.value)
            or not lowest <= int(self._node.value) <= highest
        ):
            self.refuse(f"expected an integer from {lowest} to {highest}")
        return int(self._node.value)

    def items(self, read: Callable[[Value], T]) -> tuple[T, ...]:
        """A list, each entry read by `read`; an entry that occurs twice is refused."""
        if not isinstance(self._node, yaml.SequenceNode):
            self.refuse("expected a list")
        items: list[T] = []
        for index, node in enumerate(self._node.value):
            entry = Value(node, path=f"{self.path}[{index}]", source=self._source)
            item = read(entry)
            if item in items:
                entry.fault(f"repeats {self.path}[{items.index(item)}]; keep one of them")
            items.append(item)
        return tuple(items)

    def mapping(self, known: tuple[str, ...]) -> dict[str, Value]:
        """A mapping whose keys are among `known`; an unknown or repeated key is refused."""
        if not isinstance(self._node, yaml.MappingNode):
            self.refuse("expected a mapping")
        fields: dict[str, Value] = {}
        for key_node, node in self._node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            field = Value(node, path=_join(self.path, key), source=self._source)
            at_key = Value(key_node, path=field.path, source=self._source)
            if key not in known:
                at_key.fault(f"is not a known key; known: {', '.join(known)}")
            if key in fields:
                at_key.fault(f"is given twice, first in line {fields[key].line}")
            fields[key] = field
        return fields

    def arguments(self, model: type[msgspec.Struct], **readers: Callable[[Value], object]) -> dict[str, Any]:
        """A mapping as keyword arguments for `model`: each reader reads the model's field of its name.

        An absent key is left out, so that the model's default holds; a field without one must be there.
        """
        fields = [field for field in msgspec.structs.fields(model) if field.name in readers]
        values = self.mapping(tuple(field.encode_name for field in fields))
        for field in fields:
            if field.required and field.encode_name not in values:
                self.refuse_missing(field.encode_name)
        return {
            field.name: readers[field.name](values[field.encode_name])
            for field in fields
            if field.encode_name in values
        }

    def struct(self, model: type[StructT], **readers: Callable[[Value], object]) -> StructT:
        """A mapping as `model`; see `arguments`."""
        return model(**self.arguments(model, **readers))

    @property
    def line(self) -> int:
        """The line that the value starts in, from 1."""
        mark = self._node.start_mark
        return mark.line + 1 if mark else 0

    def _place(self) -> str:
        return f"{self._source}:{self.line}:"

    def _found(self) -> str:
        if isinstance(self._node, yaml.MappingNode):
            return "a mapping"
        if isinstance(self._node, yaml.SequenceNode):
            return "a list"
        if self._node.tag == _NULL:
            return "empty"
        text: str = self._node.value
        if len(text) > _SHOWN_LENGTH:
            text = f"{text[:_SHOWN_LENGTH]}…"
        return msgspec.json.encode(text).decode() if self._node.tag == _STRING else text


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
