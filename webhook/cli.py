"""The command line: groups, options and their help. A command's module is imported when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from webhook.errors import CustomSchedulerError
from webhook.observe.exposition import shared_between_workers
from webhook.observe.logs import LogFormat, configure_logging
from webhook.settings import BinderSettings, CertMode, ServeSettings, own_namespace

__all__ = ["main"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Fault(click.ClickException):
    exit_code = 2


class _OneLineErrors(click.Group):
    """A group whose commands tell a person their faults in one line and exit with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a fault that has a text for a person becomes that line."""
        try:
            return super().invoke(ctx)
        except CustomSchedulerError as error:
            raise _Fault(_on_one_line(str(error))) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Do what `invoke` does, also for what keeps us from writing an answer, such as a full disk."""
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


def _options(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Put several options on a command, first one first in its help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_FILE = click.Path(path_type=Path)
_PORT = click.IntRange(1, 65535)

_cluster_options = _options(
    click.option("--kubeconfig", type=_FILE, help="Default: the pod's own, $KUBECONFIG, ~/.kube/config."),
    click.option(
        "--namespace",
        help="Where this program keeps its objects. Default: the pod's own, or custom-scheduler.",
    ),
    click.option(
        "--scheduler-config",
        type=_FILE,
        help="A SchedulerConfiguration: profiles, plugins and their sources.",
    ),
)
_ops_options = _options(
    click.option("--ops-host", default="0.0.0.0", show_default=True, help="Address of the ops port."),  # noqa: S104 (the kubelet probes the pod's address)
    click.option(
        "--ops-port",
        type=_PORT,
        default=8080,
        show_default=True,
        help="Plain HTTP: /healthz /readyz /metrics.",
    ),
)
_log_options = _options(
    click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
)


@click.group(
    cls=_OneLineErrors,
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


@main.command(
    epilog="Example: custom-scheduler serve --offline --policy p.yaml --tls-cert c.pem --tls-key k.pem"
)
@click.option("--policy", type=_FILE, required=True, help="The PlacementPolicy; re-read when it changes.")
@click.option("--host", default="0.0.0.0", show_default=True, help="Address of the TLS port.")  # noqa: S104 (the API server calls the pod's address)
@click.option(
    "--port", type=_PORT, default=8443, show_default=True, help="TLS port that the API server calls."
)
@_ops_options
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=32, show_default=True, help="Threads a process."
)
@click.option(
    "--drain-seconds",
    type=click.FloatRange(0, 300),
    default=10,
    show_default=True,
    help="After SIGTERM: unready, but still answering, for so long.",
)
@click.option(
    "--cert-mode",
    type=click.Choice(["self-signed", "files"]),
    help="Default: files where a pair is given, else self-signed.",
)
@click.option("--tls-cert", type=_FILE, help="Certificate chain, PEM; re-read when it changes.")
@click.option("--tls-key", type=_FILE, help="Its private key, PEM.")
@click.option("--client-ca", type=_FILE, help="Demand client certificates signed by this CA.")
@click.option(
    "--ca-settle-seconds",
    type=click.FloatRange(0, 3600),
    default=60,
    show_default=True,
    help="How long a new CA is in caBundle before it is used. With less, an API server that lags refuses calls.",
)
@click.option(
    "--replica",
    help="Names this replica's Lease, unlike any other's. Default: the host's name, as pods have it.",
)
@_cluster_options
@click.option(
    "--offline", is_flag=True, help="Answer from the policy and the given certificate; no cluster needed."
)
@click.option("--binder/--no-binder", default=None, help="Also place pods. Default: if there is a cluster.")
@_log_options
def serve(
    *,
    cert_mode: CertMode | None,
    binder: bool | None,
    log_format: LogFormat,
    namespace: str | None,
    **others: Any,
) -> None:
    """Answer AdmissionReviews over TLS and, beside it, place pods."""
    settings = ServeSettings.checked(
        cert_mode=cert_mode, binder=binder, namespace=own_namespace(namespace), **others
    )
    configure_logging(log_format)
    with shared_between_workers(settings.workers):
        from webhook.commands import serve as command

        sys.exit(command.run(settings))


@main.command(epilog="Example: custom-scheduler binder --kubeconfig ~/.kube/config --ops-port 8081")
@_cluster_options
@_ops_options
@_log_options
def binder(*, namespace: str | None, log_format: LogFormat, **others: Any) -> None:
    """Place the pods whose spec.schedulerName is a profile's."""
    settings = BinderSettings(namespace=own_namespace(namespace), **others)
    configure_logging(log_format)
    from webhook.commands import binder as command

    sys.exit(command.run(settings))


@main.command(
    epilog="Example: custom-scheduler check deployment.yaml, or: kustomize build . | custom-scheduler check -"
)
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--policy", type=_FILE, help="The PlacementPolicy. Default: the one with every default.")
@click.option(
    "--namespace-labels",
    default="",
    metavar="KEY=VALUE,...",
    help="Labels of the manifests' namespaces. Default: custom-scheduler.io/enforce=deny, and no exemption.",
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True
)
def check(*, files: tuple[Path, ...], **others: Any) -> None:
    """Say what the policy makes of manifests; - is standard input. No cluster is needed.

    Exits with 0 if nothing would be denied, 1 if something would be, 2 if something can't be judged.
    """
    from webhook.commands import check as command

    sys.exit(command.run(files, **others))


@main.command(epilog="Example: custom-scheduler audit team-a --policy next-policy.yaml")
@click.argument("namespaces", nargs=-1, metavar="[NAMESPACE]...")
@click.option("--policy", type=_FILE, help="A PlacementPolicy to try. Default: the one that is installed.")
@click.option("--kubeconfig", type=_FILE, help="Default: $KUBECONFIG, the pod's own, ~/.kube/config.")
@click.option("--namespace", help="Where custom-scheduler is installed. Default: custom-scheduler.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Owners told one by one; the rest is counted.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def audit(*, namespaces: tuple[str, ...], namespace: str | None, **others: Any) -> None:
    """Say which Deployments and other owners of pods would be denied at their next restart.

    Looks at the named namespaces, or at all; it only reads. Exits with 0 if nothing would be denied, else with 1.
    """
    from webhook.commands import audit as command

    sys.exit(command.run(namespaces, own_namespace=own_namespace(namespace), **others))


@main.command(
    epilog="Example: custom-scheduler simulate -f pod.yaml, or: custom-scheduler simulate team-a/web-0"
)
@click.argument("pod", required=False, metavar="[NAMESPACE/POD]")
@click.option("-f", "--file", type=_FILE, help="A manifest with pods; - is standard input.")
@click.option("-n", "--namespace", help="Of POD, or of pods in FILE that name none. Default: default.")
@click.option("--snapshot", type=_FILE, help="Decide on this file; no cluster is needed.")
@click.option(
    "--save-snapshot", type=_FILE, help="Write what was read from the cluster; it may hold secrets."
)
@click.option("--kubeconfig", type=_FILE, help="Default: $KUBECONFIG, the pod's own, ~/.kube/config.")
@click.option(
    "--scheduler-config", type=_FILE, help="A SchedulerConfiguration. Default: the default plugins."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="Nodes told one by one, of the feasible and of the others; the rest is counted.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def simulate(*, pod: str | None, **others: Any) -> None:
    """Say which node a pod would go to, and why: per plugin, per node. It only reads, and binds nothing.

    The pod is one of the cluster, waiting or placed, or those of a file, decided on one after the other.
    Exits with 0 if all fit, else with 1.
    """
    from webhook.commands import simulate as command

    sys.exit(command.run(pod, **others))


@main.group()
def policy() -> None:
    """Work with a policy file."""


@policy.command(epilog="Example: custom-scheduler policy validate policy.yaml")
@click.argument("file", type=_FILE)
def validate(file: Path) -> None:
    """Say whether FILE is a PlacementPolicy that can be served."""
    from webhook.commands import policy_validate

    click.echo(policy_validate.run(file))


@policy.command(
    epilog="Example: custom-scheduler policy export --format cel policy.yaml | kubectl apply -f -"
)
@click.argument("file", type=_FILE)
@click.option("--format", type=click.Choice(["cel"]), default="cel", show_default=True, expose_value=False)
@click.option("--namespace", help="Ours, which is exempt. Default: the pod's own, or custom-scheduler.")
def export(file: Path, *, namespace: str | None) -> None:
    """Print what lets an API server keep the policy in FILE without us: admission policies and bindings."""
    from webhook.commands import policy_export

    click.echo(policy_export.run(file, namespace=own_namespace(namespace)), nl=False)


@main.group()
def certs() -> None:
    """Look at the webhook's certificate authority, or have it replaced."""


_installation_options = _options(
    click.option("--kubeconfig", type=_FILE, help="Default: $KUBECONFIG, the pod's own, ~/.kube/config."),
    click.option("--namespace", help="Where custom-scheduler is installed. Default: custom-scheduler."),
)


@certs.command(epilog="Example: custom-scheduler certs show -o json")
@_installation_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(*, namespace: str | None, **others: Any) -> None:
    """Say which CA signs and until when, which replica serves it, and how far a rotation is."""
    from webhook.commands import certs_show as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))


@certs.command(epilog="Example: custom-scheduler certs rotate --kubeconfig ~/.kube/config")
@_installation_options
def rotate(*, namespace: str | None, **others: Any) -> None:
    """Put a new CA in the place of the one that signs, with no call refused; the running replicas do the rest.

    Exits with 1 where a rotation is under way already.
    """
    from webhook.commands import certs_rotate as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))


@main.command(epilog="Example: custom-scheduler doctor --prove")
@_installation_options
@click.option(
    "--prove",
    "prove_it",
    is_flag=True,
    help="Send a pod that is always denied through the API server, as a dry run; exits with 0 only if it was.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(*, namespace: str | None, **others: Any) -> None:
    """Check an installation, and name what mends it. Changes nothing.

    Exits with 1 if something fails, or with --prove if no denial of ours came back.
    """
    from webhook.commands import doctor as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))
