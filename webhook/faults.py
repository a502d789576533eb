"""What msgspec says of a value that doesn't fit its type, taken apart."""

from __future__ import annotations

import re

import msgspec

__all__ = ["path_and_fault"]

_TEXT = re.compile(r"(?P<fault>.*) - at `(?P<path>.*)`", re.DOTALL)


def path_and_fault(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of the fault, which begins with `$`, and what is wrong there."""
    if at := _TEXT.fullmatch(str(error)):
        return at["path"], at["fault"]
    return "$", str(error)
