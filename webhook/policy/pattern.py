"""A pattern that a label's value must match."""

from __future__ import annotations

import re2  # type: ignore[import-untyped]  # the package ships no annotations

__all__ = ["Pattern"]


class Pattern:
    """A RE2 expression that matches a whole value, in time linear in the value.

    RE2 rather than `re`: a policy must not be able to hang the server, and CEL's `matches` is RE2 too.
    Raises ValueError, with RE2's reason, for an expression that RE2 refuses.
    """

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str) -> None:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            raise ValueError(error.args[0].decode("utf-8", "replace")) from None
        self.text = text

    def matches(self, value: str) -> bool:
        """Tell whether the whole of `value` matches."""
        return self._compiled.fullmatch(value) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"
