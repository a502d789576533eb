"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from webhook.settings import OpsSettings, ServerSettings

__all__ = [
    "FILE",
    "PORT",
    "cluster_options",
    "drain_option",
    "installation_options",
    "kubeconfig_option",
    "log_options",
    "ops_options",
    "output_option",
    "pair_options",
    "setting",
    "tls_min_version_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
PORT = click.IntRange(1, 65535)


def setting(settings: type[msgspec.Struct], flag: str, **details: Any) -> Callable[[_Command], _Command]:
    """Return an option whose default, which its help shows, is the one that the settings' field of its name has."""
    name = flag.removeprefix("--").replace("-", "_")
    default = next(field.default for field in msgspec.structs.fields(settings) if field.name == name)
    return click.option(flag, default=default, show_default=True, **details)


def _options(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Put several options on a command, first one first in its help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


kubeconfig_option = click.option(
    "--kubeconfig", type=FILE, help="Default: $KUBECONFIG, the pod's own, ~/.kube/config."
)
cluster_options = _options(
    kubeconfig_option,
    click.option(
        "--namespace",
        help="Where this program keeps its objects. Default: the pod's own, or custom-scheduler.",
    ),
    click.option(
        "--scheduler-config",
        type=FILE,
        help="A SchedulerConfiguration: profiles, plugins and their sources.",
    ),
)
installation_options = _options(
    kubeconfig_option,
    click.option(
        "--namespace",
        help="Where custom-scheduler is installed. Default: the pod's own, or custom-scheduler.",
    ),
)
ops_options = _options(
    setting(OpsSettings, "--ops-host", help="Address of the ops port."),
    setting(OpsSettings, "--ops-port", type=PORT, help="Plain HTTP: /healthz /readyz /metrics."),
)
drain_option = setting(
    ServerSettings,
    "--drain-seconds",
    type=click.FloatRange(0, 300),
    help="After SIGTERM: unready, but still answering, for so long.",
)
pair_options = _options(
    click.option("--tls-cert", type=FILE, help="Certificate chain, PEM; re-read when it changes."),
    click.option("--tls-key", type=FILE, help="Its private key, PEM."),
)
tls_min_version_option = setting(
    ServerSettings,
    "--tls-min-version",
    type=click.Choice(["1.2", "1.3"]),
    help="The oldest TLS that is spoken. Every API server and kube-scheduler speaks 1.3.",
)
log_options = _options(
    click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="debug tells of everything, such as requests that are allowed.",
    ),
)
output_option = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
