"""A guide in Markdown as a series of steps: files to write, and commands with what they print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Command", "File", "steps"]

_FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(
    r"^    \$ (?P<line>.*)\n(?P<output>(?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE
)


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that the reader types, and the lines that it prints; none where the guide shows none."""

    line: str
    output: str


def steps(guide: Path, *, replaced: Mapping[str, str]) -> Iterator[File | Command]:
    """Yield the steps in the order of the guide, with each text that is replaced by another."""
    text = guide.read_text()
    for old, new in replaced.items():
        text = text.replace(old, new)
    found = [*_FILE.finditer(text), *_COMMAND.finditer(text)]
    for match in sorted(found, key=lambda match: match.start()):
        parts = match.groupdict()
        if "name" in parts:
            yield File(parts["name"], parts["text"])
        else:
            yield Command(parts["line"], re.sub("^    ", "", parts["output"], flags=re.MULTILINE))
