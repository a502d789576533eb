"""`python -m devcluster`: a control plane for a person at a terminal."""

from __future__ import annotations

import sys

import click

from devcluster.build import ensure_built, say_on_stderr
from devcluster.cluster import DevCluster
from devcluster.errors import DevClusterError
from devcluster.version import read_versions


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start a throwaway Kubernetes control plane on this machine."""


@main.command()
@click.option(
    "--nodes", type=click.IntRange(min=0), default=3, show_default=True, help="Node objects to create."
)
@click.option("--scheduler/--no-scheduler", default=True, help="Run kube-scheduler.")
@click.option(
    "--controller-manager/--no-controller-manager", default=True, help="Run kube-controller-manager."
)
@click.option(
    "--apiserver-flag", "apiserver_flags", multiple=True, help="A flag for kube-apiserver; repeatable."
)
def up(*, nodes: int, scheduler: bool, controller_manager: bool, apiserver_flags: tuple[str, ...]) -> None:
    """Start a control plane, print its KUBECONFIG line, and run until Ctrl-C.

    \b
    Examples:
      python -m devcluster up --nodes 6
      python -m devcluster up --nodes 500 --no-scheduler
      python -m devcluster up --apiserver-flag=--v=4
    """
    cluster = DevCluster(
        nodes=nodes,
        scheduler=scheduler,
        controller_manager=controller_manager,
        apiserver_flags=apiserver_flags,
    )
    try:
        with cluster:
            say_on_stderr(
                f"Kubernetes {read_versions().kubernetes} with {nodes} nodes at {cluster.url}; Ctrl-C ends it"
            )
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            cluster.wait()
    except KeyboardInterrupt:
        say_on_stderr("Stopped; nothing is left of it")
    except DevClusterError as error:
        say_on_stderr(f"devcluster: {error}")
        sys.exit(2)


@main.command()
def build() -> None:
    """Build the control plane's programs now, if that was not done yet, and print their folder.

    \b
    Example:
      export KUBEBUILDER_ASSETS=$(python -m devcluster build)
    """
    try:
        print(ensure_built(say_on_stderr))
    except DevClusterError as error:
        say_on_stderr(f"devcluster: {error}")
        sys.exit(2)


if __name__ == "__main__":
    main(prog_name="python -m devcluster")
