"""The commands for policy files."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli.options import FILE
from webhook.settings import own_namespace

__all__ = ["policy"]


@click.group()
def policy() -> None:
    """Work with a policy file."""


@policy.command(epilog="Example: custom-scheduler policy validate policy.yaml")
@click.argument("file", type=FILE)
def validate(file: Path) -> None:
    """Say whether FILE is a PlacementPolicy that can be served."""
    from webhook.commands import policy_validate

    click.echo(policy_validate.run(file))


@policy.command(
    epilog="Example: custom-scheduler policy export --format cel policy.yaml | kubectl apply -f -"
)
@click.argument("file", type=FILE)
@click.option("--format", type=click.Choice(["cel"]), default="cel", show_default=True, expose_value=False)
@click.option("--namespace", help="Ours, which is exempt. Default: the pod's own, or custom-scheduler.")
def export(file: Path, *, namespace: str | None) -> None:
    """Print what lets an API server keep the policy in FILE without us: admission policies and bindings."""
    from webhook.commands import policy_export

    # An API server reads it: in UTF-8, whatever people read here.
    click.echo(policy_export.run(file, namespace=own_namespace(namespace)).encode(), nl=False)
