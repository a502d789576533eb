"""JSON Patch: RFC 6902 operations at RFC 6901 pointers."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Add", "pointer"]


class Add(msgspec.Struct, frozen=True, tag_field="op", tag="add"):
    """Set a member of an object, whether or not it is there, or insert into a list; `-` appends.

    The only operation that steering needs: we remove nothing, and `add` replaces a member (RFC 6902, 4.1).
    """

    path: str
    value: Any


def pointer(*tokens: str | int) -> str:
    """Return the JSON pointer through `tokens`, escaped: `~` as `~0` and `/` as `~1`."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)
