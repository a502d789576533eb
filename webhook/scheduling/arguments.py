"""What people wrote in a configuration, as typed values; faults name the place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from webhook.errors import ConfigurationError

__all__ = ["convert", "parse_args"]

T = TypeVar("T")


def parse_args(plugin: str, args: Mapping[str, Any], type_: type[T]) -> T:
    """A plugin's arguments as its msgspec Struct; raises ConfigurationError naming plugin and argument."""
    return convert(args, type_, source=f"arguments of {plugin}")


def convert(raw: object, type_: type[T], *, source: str) -> T:
    """The decoded YAML as this type; raises ConfigurationError: source, path of the fault, what is wrong."""
    try:
        return msgspec.convert(raw, type_)
    except msgspec.ValidationError as error:
        # msgspec ends its text with the path: "… - at `$.profiles[0]`".
        what, _, path = str(error).partition(" - at `$")
        path = path.strip("`.")
        raise ConfigurationError(f"{source}: {path}: {what}" if path else f"{source}: {what}") from error
