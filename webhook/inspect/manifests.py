"""Manifests in a text: documents of YAML or JSON, Lists taken apart, each object with its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import msgspec

from webhook.admission.objects import Kind
from webhook.inspect.jsontext import parse_json
from webhook.inspect.located import Located, Unreadable, text_of
from webhook.inspect.yamltext import parse_yaml

__all__ = ["MAX_BYTES", "Broken", "Manifest", "read_manifests", "read_text", "standard_input"]

# All Deployments of a large cluster fit; what is larger is a mistake, or an attack.
MAX_BYTES = 128 << 20
_MAX_LISTS = 4  # one inside of the other

_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_BEFORE_VALUE = re.compile(r"(?:---[ \t]*(?:#[^\n]*)?(?=\n|\r|\Z))?\s*")
_UNRENDERED = "; a Helm chart is rendered first: helm template . | custom-scheduler check -"
_FIELD_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the input that can't be judged; `line` is None where it is the whole of `source`."""

    source: str
    line: int | None = None
    fault: str


class Manifest:
    """One object of the input; `display_name` is for people, `prefix*` where the name is to be generated."""

    def __init__(self, located: Located, *, source: str, api_version: str, kind: str) -> None:
        self.source = source
        self.line = located.line
        self.kind = kind
        self.group_kind: Kind = (api_version.rpartition("/")[0], kind)
        self._located = located
        metadata = located.member("metadata")
        self.namespace = text_of(metadata and metadata.member("namespace"))
        self.name = text_of(metadata and metadata.member("name"))
        prefix = text_of(metadata and metadata.member("generateName"))
        self.display_name = self.name or (f"{prefix}*" if prefix else "")

    def value(self) -> dict[str, Any]:
        """Return the object as plain data."""
        value: dict[str, Any] = self._located.value()
        return value

    def line_of(self, field: str) -> int:
        """Return the line of a field such as `spec.template.metadata.labels[a/b]`, or of what would hold it."""
        at = self._located
        for index, name in _FIELD_PART.findall(field):
            elements = at.elements()
            if elements is not None:
                below = elements[int(index)] if index.isdecimal() and int(index) < len(elements) else None
            else:
                below = at.member(index or name)
            if below is None:
                break
            at = below
        return at.line


def standard_input() -> IO[bytes] | None:
    """Return standard input, or None where the shell closed it."""
    return sys.stdin.buffer if sys.stdin else None


def read_text(path: Path, stdin: IO[bytes] | None) -> str | Broken:
    """Return the text of a file, or of standard input where `path` is `-`; `stdin` is None where that is closed."""
    source = str(path)
    if source == "-" and stdin is None:
        return Broken(source=source, fault="standard input is closed; pipe manifests into it")
    try:
        if source == "-" and stdin is not None:
            content = stdin.read(MAX_BYTES + 1)
        else:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        return Broken(
            source=source,
            fault=f"is a folder; name its files, or: kustomize build {path} | custom-scheduler check -",
        )
    except OSError as error:
        return Broken(source=source, fault=f"can't be read ({error.strerror or error})")
    if len(content) > MAX_BYTES:
        return Broken(source=source, fault=f"is larger than {MAX_BYTES >> 20} MiB; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Broken(source=source, fault=f"byte {error.start} is not UTF-8; save the file as UTF-8")


def read_manifests(text: str, *, source: str) -> Iterator[Manifest | Broken]:
    """Yield the objects in `text`, in its order; a document that is broken takes no other with it."""
    for first_line, document in _documents(text):
        try:
            for value in _values(document, first_line):
                yield from _objects(value, source)
        except Unreadable as error:
            hint = _UNRENDERED if "{{" in document else ""
            yield Broken(source=source, line=error.line, fault=f"{error}{hint}")


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text cut before each line of ---, as kubectl does: k8s.io/apimachinery pkg/util/yaml."""
    # Of files put one behind another, each may begin with a byte order mark.
    text = text.replace("\n\ufeff", "\n")
    cuts = [0, *(match.start() for match in _DOCUMENT.finditer(text) if match.start()), len(text)]
    line = 1
    for start, end in pairwise(cuts):
        document = text[start:end]
        yield line, document
        line += document.count("\n")


def _values(document: str, first_line: int) -> Iterator[Located]:
    match = _BEFORE_VALUE.match(document)
    start = match.end() if match else 0
    if document[start : start + 1] == "{":
        json_values = parse_json(document[start:], first_line=first_line + document.count("\n", 0, start))
        try:
            first = next(json_values)
        except Unreadable as not_json:
            # YAML's flow style begins like JSON does.
            try:
                value = parse_yaml(document, first_line=first_line)
            except Unreadable:
                raise not_json from None
        else:
            yield first
            yield from json_values
            return
    else:
        value = parse_yaml(document, first_line=first_line)
    if value is not None:
        yield value


def _objects(
    value: Located, source: str, *, inherited: tuple[str, str] = ("", ""), lists: int = 0
) -> Iterator[Manifest | Broken]:
    api_version = text_of(value.member("apiVersion")) or inherited[0]
    kind = text_of(value.member("kind")) or inherited[1]
    if not api_version or not kind:
        yield Broken(
            source=source, line=value.line, fault="is no Kubernetes object: it needs an apiVersion and a kind"
        )
        return
    items = value.member("items") if kind.endswith("List") else None
    elements = items.elements() if items else None
    if elements is None:
        yield Manifest(value, source=source, api_version=api_version, kind=kind)
    elif lists == _MAX_LISTS:
        yield Broken(source=source, line=value.line, fault=f"is the {lists + 1}th List inside of a List")
    else:
        # The items of a PodList may leave out what the list's kind says already.
        of = (api_version, kind.removesuffix("List")) if kind != "List" else ("", "")
        for element in elements:
            yield from _objects(element, source, inherited=of, lists=lists + 1)
