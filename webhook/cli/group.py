"""The group of all commands: tells a person each fault in one line."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from webhook.errors import CustomSchedulerError

__all__ = ["OneLineErrors"]


class _Fault(click.ClickException):
    exit_code = 2


class OneLineErrors(click.Group):
    """A group whose commands tell a person their faults in one line and exit with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a fault that has a text for a person becomes that line."""
        try:
            return super().invoke(ctx)
        except CustomSchedulerError as error:
            raise _Fault(_on_one_line(str(error))) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Do what `invoke` does, also for what keeps us from writing an answer, such as a full disk.

        What the output's encoding doesn't have is written escaped: names are another's.
        """
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # None where the shell closed it
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            _Fault(_on_one_line(f"the system refused: {error}")).show()
            # Not sys.exit: what could not be written would be tried again, and its traceback shown.
            os._exit(_Fault.exit_code)


def _on_one_line(text: str) -> str:
    """Return the text with what is no printable character escaped: it may quote a file's name or a plugin's words."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
