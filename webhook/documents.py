"""One YAML document that an admin wrote, read value by value: each fault names the file, the line and the path."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml
from msgspec import inspect
from yaml.constructor import SafeConstructor

from webhook.errors import ConfigurationError
from webhook.faults import path_and_fault

__all__ = ["API_VERSION", "Value", "open_document", "read_document"]

API_VERSION = "custom-scheduler.io/v1alpha1"

# A ConfigMap holds no more than this; see k8s.io/kubernetes pkg/apis/core/validation MaxSecretSize.
MAX_BYTES = 1 << 20
# libyaml's composer recurses in C.
MAX_DEPTH = 32

_STRING, _INTEGER, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("str", "int", "null"))
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")
_SHOWN_LENGTH = 80

T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)


def read_document(path: Path, *, kind: str, error: type[ConfigurationError]) -> bytes:
    """Return the bytes of the file that should hold a `kind`; one too large is not read whole.

    Raises `error` where it can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as fault:
        reason = fault.strerror or type(fault).__name__
        raise error(f"{path}: can't be read ({reason}); give a file with a {kind}") from None


def open_document(text: str | bytes, *, source: str, kind: str, error: type[ConfigurationError]) -> Value:
    """Return the only document in `text`; aliases and several documents are refused.

    `source` names the text in errors and `kind` what it should hold. Raises `error`, as do all readers of the
    values in it.
    """
    if len(text) > MAX_BYTES:
        raise error(f"{source}: is larger than {MAX_BYTES} bytes; a {kind} is a page of YAML")
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        if unwanted := _unwanted(decoded, kind):
            raise error(f"{source}:{unwanted}")
        root = yaml.compose(decoded, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as fault:
        raise error(f"{source}: byte {fault.start} is not UTF-8; save the file as UTF-8") from None
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line = f"{mark.line + 1}:" if mark else ""
        raise error(f"{source}:{line} is not YAML: {fault.problem or fault.context}") from None
    except yaml.YAMLError as fault:
        reason = str(fault).splitlines()[0]
        raise error(f"{source}: is not YAML: {reason}") from None
    if root is None:
        raise error(f"{source}: is empty; expected a {kind}")
    return Value(root, path="", source=source, error=error)


def _unwanted(text: str, kind: str) -> str | None:
    """Return line and description of what no document of ours may have."""
    # Works on the stream of events, which takes no memory per level, before anything recurses.
    documents = depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            return f"{line}: has the alias *{event.anchor}; write the value out"
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > MAX_DEPTH:
            return f"{line}: is nested deeper than {MAX_DEPTH} levels"
        if documents > 1:
            return f"{line}: starts a second document; keep one {kind} in a file"
    return None


class Value:
    """A value at a path of a document; each reader returns it in the wanted form or raises the document's error."""

    __slots__ = ("_error", "_node", "_source", "path")

    def __init__(self, node: yaml.Node, *, path: str, source: str, error: type[ConfigurationError]) -> None:
        self._node = node
        self._source = source
        self._error = error
        self.path = path

    def refuse(self, expected: str) -> NoReturn:
        """Raise the error that names this value and what was expected of it."""
        self.fault(f"is {self._found()}; {expected}")

    def fault(self, text: str) -> NoReturn:
        """Raise the error that says `text` of this value."""
        raise self._error(f"{self._source}:{self.line}: {self.path or 'the document'} {text}")

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self._node, yaml.ScalarNode):
            self.refuse("expected a string")
        if self._node.tag != _STRING:
            self.refuse("expected a string: put it in quotes if it is meant so")
        return self._node.value  # type: ignore[no-any-return]  # a scalar's value is its text

    def checked(self, check: Callable[[str], bool], expected: str) -> str:
        """Return a string that keeps `check`; `expected` is the rule in words."""
        text = self.text()
        if not check(text):
            self.refuse(f"expected {expected}")
        return text

    def choice(self, allowed: tuple[str, ...]) -> str:
        """Return one of `allowed`, letter for letter.

        The text decides, not YAML's type: YAML 1.1 reads a plain `Off` as false.
        """
        if not isinstance(self._node, yaml.ScalarNode) or self._node.value not in allowed:
            self.refuse(f"allowed: {', '.join(allowed)}")
        return self._node.value  # type: ignore[no-any-return]  # a scalar's value is its text

    def integer(self, lowest: int, highest: int) -> int:
        """Return a decimal integer within the bounds."""
        if (
            not isinstance(self._node, yaml.ScalarNode)
            or self._node.tag != _INTEGER
            or not _DECIMAL.fullmatch(self._node.value)
            or not lowest <= int(self._node.value) <= highest
        ):
            self.refuse(f"expected an integer from {lowest} to {highest}")
        return int(self._node.value)

    def items(self, read: Callable[[Value], T]) -> tuple[T, ...]:
        """Return a list, each entry read by `read`; an entry that occurs twice is refused."""
        if not isinstance(self._node, yaml.SequenceNode):
            self.refuse("expected a list")
        items: list[T] = []
        for entry in self._entries():
            item = read(entry)
            if item in items:
                entry.fault(f"repeats {self.path}[{items.index(item)}]; keep one of them")
            items.append(item)
        return tuple(items)

    def mapping(
        self, known: Collection[str] | None = None, *, required: Iterable[str] = ()
    ) -> dict[str, Value]:
        """Return a mapping with all keys `required` and others among `known` (None: any); no key is given twice."""
        if not isinstance(self._node, yaml.MappingNode):
            self.refuse("expected a mapping")
        fields: dict[str, Value] = {}
        for key, at_key, value in self._fields():
            if known is not None and key not in known:
                at_key.fault(f"is not a known key; known: {', '.join(known)}")
            if key in fields:
                at_key.fault(f"is given twice, first in line {fields[key].line}")
            fields[key] = value
        for key in required:
            if key not in fields:
                self._child(self._node, _join(self.path, key)).fault("is missing")
        return fields

    def arguments(self, model: type[msgspec.Struct], **readers: Callable[[Value], object]) -> dict[str, Any]:
        """Return a mapping as keyword arguments for `model`: each reader reads the model's field of its name.

        An absent key is left out, so that the model's default holds; a field without one must be there.
        """
        fields = [field for field in msgspec.structs.fields(model) if field.name in readers]
        values = self.mapping(
            [field.encode_name for field in fields],
            required=[field.encode_name for field in fields if field.required],
        )
        return {
            field.name: readers[field.name](values[field.encode_name])
            for field in fields
            if field.encode_name in values
        }

    def struct(self, model: type[StructT], **readers: Callable[[Value], object]) -> StructT:
        """Return a mapping as `model`; see `arguments`."""
        return model(**self.arguments(model, **readers))

    def converted(self, model: type[T]) -> T:
        """Return the value as a msgspec type, which says itself what may be in it; no key is given twice."""
        self.check_keys(inspect.type_info(model))
        try:
            return msgspec.convert(self.plain(), model)
        except msgspec.ValidationError as error:
            path, fault = path_and_fault(error)
            self.at(path.removeprefix("$")).fault(f"can't be used: {fault}")

    def check_keys(self, kind: inspect.Type) -> None:
        """Refuse keys that the structs of a msgspec type don't know or lack."""
        if isinstance(kind, inspect.StructType):
            fields = {field.encode_name: field for field in kind.fields}
            required = [name for name, field in fields.items() if field.required]
            for key, value in self.mapping(fields, required=required).items():
                value.check_keys(fields[key].type)
        elif isinstance(kind, inspect.VarTupleType):
            for entry in self._entries():
                entry.check_keys(kind.item_type)

    def plain(self) -> Any:
        """Return the value as dicts, lists and scalars; no key is given twice."""
        if isinstance(self._node, yaml.MappingNode):
            return {key: value.plain() for key, value in self.mapping().items()}
        if isinstance(self._node, yaml.SequenceNode):
            return [entry.plain() for entry in self._entries()]
        try:
            return SafeConstructor().construct_object(self._node)
        except (yaml.YAMLError, ValueError) as error:  # a tag that YAML doesn't have, or no such date
            self.fault(f"can't be read: {' '.join(str(error).split())}")

    def at(self, path: str) -> Value:
        """Return the value at a path below this one, such as `.profiles[0].plugins`, or the last one on the way."""
        value = self
        for key, index in _STEP.findall(path):
            if index:
                below = dict(enumerate(value._entries())).get(int(index))
            else:
                below = {name: field for name, _, field in value._fields()}.get(key)
            if below is None:
                break
            value = below
        return value

    @property
    def line(self) -> int:
        """The line that the value starts in, from 1."""
        mark = self._node.start_mark
        return mark.line + 1 if mark else 0

    def _child(self, node: yaml.Node, path: str) -> Value:
        return Value(node, path=path, source=self._source, error=self._error)

    def _entries(self) -> Iterator[Value]:
        """Yield the entries of a list; none, if it is something else."""
        if isinstance(self._node, yaml.SequenceNode):
            for index, node in enumerate(self._node.value):
                yield self._child(node, f"{self.path}[{index}]")

    def _fields(self) -> Iterator[tuple[str, Value, Value]]:
        """Yield the fields of a mapping: key, place of the key, value; none, if it is something else."""
        if isinstance(self._node, yaml.MappingNode):
            for key_node, node in self._node.value:
                key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
                path = _join(self.path, key)
                yield key, self._child(key_node, path), self._child(node, path)

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
