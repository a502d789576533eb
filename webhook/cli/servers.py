"""The commands that run until they are stopped."""

from __future__ import annotations

import sys
from typing import Any

import click

from webhook.cli.options import (
    FILE,
    PORT,
    cluster_options,
    drain_option,
    kubeconfig_option,
    log_options,
    ops_options,
    pair_options,
    setting,
    tls_min_version_option,
)
from webhook.observe.exposition import shared_between_workers
from webhook.observe.logs import LogFormat, LogLevel, configure_logging
from webhook.settings import (
    BinderSettings,
    CertMode,
    ExtenderSettings,
    ServerSettings,
    ServeSettings,
    own_namespace,
)

__all__ = ["binder", "extender", "serve"]


@click.command(
    epilog="Example: custom-scheduler serve --offline --policy p.yaml --tls-cert c.pem --tls-key k.pem"
)
@click.option("--policy", type=FILE, required=True, help="The PlacementPolicy; re-read when it changes.")
@setting(ServerSettings, "--host", help="Address of the TLS port.")
@setting(ServerSettings, "--port", type=PORT, help="TLS port that the API server calls.")
@ops_options
@setting(ServerSettings, "--workers", type=click.IntRange(1, 64), help="Processes.")
@setting(ServerSettings, "--threads", type=click.IntRange(1, 1024), help="Threads a process.")
@drain_option
@click.option(
    "--cert-mode",
    type=click.Choice(["self-signed", "files"]),
    help="Default: files where a pair is given, else self-signed.",
)
@pair_options
@click.option("--client-ca", type=FILE, help="Demand client certificates signed by this CA.")
@tls_min_version_option
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
@click.option(
    "--pod-uid", help="Uid of the pod that this is, and --replica its name: with the pod, its Lease goes."
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


@click.command(
    epilog="Example: custom-scheduler extender --tls-cert c.pem --tls-key k.pem --client-ca kube-scheduler-ca.pem"
)
@setting(ServerSettings, "--host", help="Address of the TLS port.")
@setting(ServerSettings, "--port", type=PORT, help="TLS port that kube-scheduler calls.")
@ops_options
@drain_option
@pair_options
@click.option("--client-ca", type=FILE, help="The CA of kube-scheduler's client certificate, PEM.")
@tls_min_version_option
@kubeconfig_option
@click.option(
    "--scheduler-config",
    type=FILE,
    help="A SchedulerConfiguration. Default: one profile, with MemoryUsage alone.",
)
@click.option("--profile", help="Whose plugins answer, by its schedulerName. Default: the first.")
@setting(
    ExtenderSettings,
    "--best-score",
    type=click.IntRange(1, 100),
    help="What the best node is told. kube-scheduler multiplies by 10 and by the extender's weight.",
)
@click.option(
    "--print-config", is_flag=True, help="Print what to add to kube-scheduler's configuration, and exit."
)
@click.option("--url", help="For --print-config: where kube-scheduler reaches this server.")
@log_options
def extender(
    *, print_config: bool, url: str | None, log_format: LogFormat, log_level: LogLevel, **others: Any
) -> None:
    """Answer the cluster's own kube-scheduler with a profile's filters and scores.

    Demands client certificates. Pods are filtered and ranked by our plugins beside kube-scheduler's own, whatever
    their schedulerName.
    """
    if print_config:
        from webhook.extender.fragment import kube_scheduler_fragment

        click.echo(kube_scheduler_fragment(url or f"https://127.0.0.1:{others['port']}"), nl=False)
        return
    for option in ("tls_cert", "tls_key", "client_ca"):
        if others[option] is None:
            raise click.UsageError(f"Missing option '--{option.replace('_', '-')}'.")
    settings = ExtenderSettings(**others)
    configure_logging(log_format, level=log_level)
    from webhook.commands import extender as command

    sys.exit(command.run(settings))
