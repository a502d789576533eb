"""The commands for the certificate authority."""

from __future__ import annotations

import sys
from typing import Any

import click

from webhook.cli.options import installation_options, output_option
from webhook.settings import own_namespace

__all__ = ["certs"]


@click.group()
def certs() -> None:
    """Look at the webhook's certificate authority, or have it replaced."""


@certs.command(epilog="Example: custom-scheduler certs show -o json")
@installation_options
@output_option
def show(*, namespace: str | None, **others: Any) -> None:
    """Say which CA signs and until when, which replica serves it, and how far a rotation is.

    With --cert-mode files: which certificates are in the Secret that is mounted, and which entries trust them.
    """
    from webhook.commands import certs_show as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))


@certs.command(epilog="Example: custom-scheduler certs rotate --kubeconfig ~/.kube/config")
@installation_options
def rotate(*, namespace: str | None, **others: Any) -> None:
    """Put a new CA in the place of the one that signs, with no call refused; the running replicas do the rest.

    Exits with 1 where a rotation is under way already.
    """
    from webhook.commands import certs_rotate as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))
