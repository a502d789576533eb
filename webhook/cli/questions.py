"""The commands that answer a question about manifests or a cluster, and change nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from webhook.cli.options import FILE, installation_options, kubeconfig_option, output_option
from webhook.settings import own_namespace

__all__ = ["audit", "check", "doctor", "simulate"]


@click.command(
    epilog="Example: custom-scheduler check deployment.yaml, or: kustomize build . | custom-scheduler check -"
)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--policy", type=FILE, help="The PlacementPolicy. Default: the one with every default.")
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


@click.command(epilog="Example: custom-scheduler audit team-a --policy next-policy.yaml")
@click.argument("namespaces", nargs=-1, metavar="[NAMESPACE]...")
@click.option("--policy", type=FILE, help="A PlacementPolicy to try. Default: the one that is installed.")
@installation_options
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Owners told one by one; the rest is counted.",
)
@output_option
def audit(*, namespaces: tuple[str, ...], namespace: str | None, **others: Any) -> None:
    """Say which Deployments and other owners of pods would be denied at their next restart.

    Looks at the named namespaces, or at all; it only reads. Exits with 0 if nothing would be denied, else with 1.
    """
    from webhook.commands import audit as command

    sys.exit(command.run(namespaces, own_namespace=own_namespace(namespace), **others))


@click.command(
    epilog="Example: custom-scheduler simulate -f pod.yaml, or: custom-scheduler simulate team-a/web-0"
)
@click.argument("pod", required=False, metavar="[NAMESPACE/POD]")
@click.option("-f", "--file", type=FILE, help="A manifest with pods; - is standard input.")
@click.option("-n", "--namespace", help="Of POD, or of pods in FILE that name none. Default: default.")
@click.option("--snapshot", type=FILE, help="Decide on this file; no cluster is needed.")
@click.option("--save-snapshot", type=FILE, help="Write what was read from the cluster; it may hold secrets.")
@kubeconfig_option
@click.option("--scheduler-config", type=FILE, help="A SchedulerConfiguration. Default: the default plugins.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="Nodes told one by one, of the feasible and of the others; the rest is counted.",
)
@output_option
def simulate(*, pod: str | None, **others: Any) -> None:
    """Say which node a pod would go to, and why: per plugin, per node. It only reads, and binds nothing.

    The pod is one of the cluster, waiting or placed, or those of a file, decided on one after the other.
    Exits with 0 if all fit, else with 1.
    """
    from webhook.commands import simulate as command

    sys.exit(command.run(pod, **others))


@click.command(epilog="Example: custom-scheduler doctor --prove")
@installation_options
@click.option(
    "--prove",
    "prove_it",
    is_flag=True,
    help="Send a pod that is always denied through the API server, as a dry run; exits with 0 only if it was.",
)
@output_option
def doctor(*, namespace: str | None, **others: Any) -> None:
    """Check an installation, and name what mends it. Changes nothing.

    Exits with 1 if something fails, or with --prove if no denial of ours came back.
    """
    from webhook.commands import doctor as command

    sys.exit(command.run(namespace=own_namespace(namespace), **others))
