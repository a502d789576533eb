"""`make demo`: a control plane, the product beside it, the story, and a summary."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress

import click

from demo.story import NODES, Story
from demo.terminal import Terminal
from devcluster.cluster import DevCluster
from devcluster.errors import DevClusterError
from devcluster.installation import Installation


@click.command(epilog="Example: make demo KEEP=1")
@click.option("--keep", is_flag=True, help="Leave everything running at the end, until Ctrl-C.")
def main(*, keep: bool) -> None:
    """Show the main job of custom-scheduler on a real control plane; exit 0 if every promise was kept."""
    terminal = Terminal()
    try:
        kept = _perform(terminal, keep=keep)
    except DevClusterError as error:
        terminal.result(str(error), good=False)
        sys.exit(1)
    sys.exit(0 if kept else 1)


def _perform(terminal: Terminal, *, keep: bool) -> bool:
    with ExitStack() as stage:
        with terminal.progress("Starting a control plane and custom-scheduler beside it"):
            cluster = stage.enter_context(DevCluster())
            for name, labels in NODES.items():
                cluster.add_node(name, labels=labels)
            installation = stage.enter_context(Installation(cluster))
        story = Story(cluster, terminal)
        kept = story.tell()
        terminal.heading("Summary")
        for promise, good in story.results:
            terminal.result(promise, good=good)
        if keep:
            _leave_running(terminal, cluster, installation)
    return kept


def _leave_running(terminal: Terminal, cluster: DevCluster, installation: Installation) -> None:
    terminal.heading("Still running; Ctrl-C ends it")
    terminal.say(f"export KUBECONFIG={cluster.kubeconfig}")
    terminal.say(
        f"serve writes to {installation.log_file}; its metrics: http://127.0.0.1:{installation.ops_port}/metrics"
    )
    with suppress(KeyboardInterrupt):
        cluster.wait()


if __name__ == "__main__":
    main()
