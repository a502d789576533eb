"""The commands that run until they are stopped."""

from __future__ import annotations

import sys
from typing import Any

import click

from webhook.cli.options import FILE, PORT, cluster_options, log_options, ops_options, setting
from webhook.observe.exposition import shared_between_workers
from webhook.observe.logs import LogFormat, LogLevel, configure_logging
from webhook.settings import BinderSettings, CertMode, ServerSettings, ServeSettings, own_namespace

__all__ = ["binder", "serve"]


@click.command(
    epilog="Example: custom-scheduler serve --offline --policy p.yaml --tls-cert c.pem --tls-key k.pem"
)
@click.option("--policy", type=FILE, required=True, help="The PlacementPolicy; re-read when it changes.")
@setting(ServerSettings, "--host", help="Address of the TLS port.")
@setting(ServerSettings, "--port", type=PORT, help="TLS port that the API server calls.")
@ops_options
@setting(ServerSettings, "--workers", type=click.IntRange(1, 64), help="Processes.")
@setting(ServerSettings, "--threads", type=click.IntRange(1, 1024), help="Threads a process.")
@setting(
    ServerSettings,
    "--drain-seconds",
    type=click.FloatRange(0, 300),
    help="After SIGTERM: unready, but still answering, for so long.",
)
@click.option(
    "--cert-mode",
    type=click.Choice(["self-signed", "files"]),
    help="Default: files where a pair is given, else self-signed.",
)
@click.option("--tls-cert", type=FILE, help="Certificate chain, PEM; re-read when it changes.")
@click.option("--tls-key", type=FILE, help="Its private key, PEM.")
@click.option("--client-ca", type=FILE, help="Demand client certificates signed by this CA.")
@setting(
    ServeSettings,
    "--tls-min-version",
    type=click.Choice(["1.2", "1.3"]),
    help="The oldest TLS that is spoken. Every API server speaks 1.3.",
)
@setting(
    ServeSettings,
    "--ca-settle-seconds",
    type=click.FloatRange(0, 3600),
    help="How long a new CA is in caBundle before it is used. With less, an API server that lags refuses calls.",
)
@click.option(
    "--leaf-hours",
    type=click.FloatRange(0.001, 168),
    default=168,
    hidden=True,  # to see renewals within minutes; there is no reason to set it in a cluster
)
@click.option(
    "--replica",
    help="Names this replica's Lease, unlike any other's. Default: the host's name, as pods have it.",
)
@cluster_options
@click.option(
    "--offline", is_flag=True, help="Answer from the policy and the given certificate; no cluster needed."
)
@click.option("--binder/--no-binder", default=None, help="Also place pods. Default: if there is a cluster.")
@log_options
def serve(
    *,
    cert_mode: CertMode | None,
    binder: bool | None,
    log_format: LogFormat,
    log_level: LogLevel,
    namespace: str | None,
    **others: Any,
) -> None:
    """Answer AdmissionReviews over TLS and, beside it, place pods."""
    settings = ServeSettings.checked(
        cert_mode=cert_mode, binder=binder, namespace=own_namespace(namespace), **others
    )
    configure_logging(log_format, level=log_level)
    with shared_between_workers(settings.workers):
        from webhook.commands import serve as command

        sys.exit(command.run(settings))


@click.command(epilog="Example: custom-scheduler binder --kubeconfig ~/.kube/config --ops-port 8081")
@cluster_options
@ops_options
@log_options
def binder(*, namespace: str | None, log_format: LogFormat, log_level: LogLevel, **others: Any) -> None:
    """Place the pods whose spec.schedulerName is a profile's."""
    settings = BinderSettings(namespace=own_namespace(namespace), **others)
    configure_logging(log_format, level=log_level)
    from webhook.commands import binder as command

    sys.exit(command.run(settings))
