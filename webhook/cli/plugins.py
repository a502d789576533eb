"""The commands for plugins."""

from __future__ import annotations

import sys
from typing import Any

import click

from webhook.cli.options import FILE, output_option

__all__ = ["plugins"]

_from_option = click.option(
    "--from", "url", metavar="URL", help="Ask a running binder, by the address of its ops port, instead."
)


@click.group()
def plugins() -> None:
    """See which scheduling plugins there are, and where they come from."""


@plugins.command(
    "list", epilog="Example: custom-scheduler plugins list --scheduler-config scheduler.yaml -o json"
)
@click.option(
    "--scheduler-config", type=FILE, help="A SchedulerConfiguration. Default: the built-in plugins."
)
@_from_option
@output_option
def list_(**options: Any) -> None:
    """Say of each plugin where it comes from, and whether it is in use.

    From a running binder also how long its calls take and how often it fails. Exits with 1 where anything is refused,
    as a file or the configuration, or suspended.
    """
    from webhook.commands import plugins_list as command

    sys.exit(command.run(**options))


@plugins.command(epilog="Example: custom-scheduler plugins describe MemoryUsage")
@click.argument("name")
@click.option(
    "--scheduler-config", type=FILE, help="A SchedulerConfiguration. Default: the built-in plugins."
)
@_from_option
@output_option
def describe(**options: Any) -> None:
    """Say what plugin NAME does, where it comes from, and which profiles use it at which extension points.

    From a running binder also how long its calls take and how often it fails. Exits with 1 where something is wrong
    with it.
    """
    from webhook.commands import plugins_describe as command

    sys.exit(command.run(**options))
