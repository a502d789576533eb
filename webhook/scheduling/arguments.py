"""A plugin's arguments as typed values; faults name the place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from webhook.errors import ConfigurationError
from webhook.faults import path_and_fault

__all__ = ["NoArgs", "parse_args"]

T = TypeVar("T")


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a plugin takes that takes no arguments."""


def parse_args(plugin: str, args: Mapping[str, Any], type_: type[T]) -> T:
    """Return a plugin's arguments as its msgspec Struct; raises ConfigurationError naming plugin and argument."""
    try:
        return msgspec.convert(args, type_)
    except msgspec.ValidationError as error:
        path, fault = path_and_fault(error)
        place = path.removeprefix("$").removeprefix(".")
        raise ConfigurationError(": ".join(filter(None, (f"arguments of {plugin}", place, fault)))) from error
