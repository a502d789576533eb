"""The command line: groups, options and their help. A command's module is imported when it runs."""

from __future__ import annotations

import click

from webhook.cli.authority import certs
from webhook.cli.group import OneLineErrors
from webhook.cli.plugins import plugins
from webhook.cli.policy_files import policy
from webhook.cli.questions import audit, check, doctor, simulate
from webhook.cli.servers import binder, extender, serve

__all__ = ["main"]


@click.group(
    cls=OneLineErrors,
    context_settings={
        "auto_envvar_prefix": "CUSTOM_SCHEDULER",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
    },
)
@click.version_option(package_name="custom-scheduler", prog_name="custom-scheduler")
def main() -> None:
    """Enforce a pod label, steer opted-in pods, and place them with algorithms written in Python.

    Options can also come from the environment, named after the command: CUSTOM_SCHEDULER_SERVE_PORT=9443.
    """


for _command in (serve, binder, extender, check, audit, simulate, plugins, policy, certs, doctor):
    main.add_command(_command)
