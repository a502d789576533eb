"""`custom-scheduler simulate`: which node a pod would go to, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal

from webhook.admission.objects import POD
from webhook.commands.terminal import Cell, Terminal
from webhook.errors import ConfigurationError
from webhook.inspect.manifests import Broken, Manifest, read_manifests, read_text, standard_input
from webhook.inspect.simulate import Simulation
from webhook.inspect.snapshot import SnapshotWriter
from webhook.inspect.world import World
from webhook.kube.config import connect
from webhook.scheduling.config import SchedulerConfiguration, load_configuration
from webhook.scheduling.explanation import Explanation, NodeVerdict
from webhook.scheduling.objects import Pod

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

DEFAULT_NAMESPACE = "default"


def run(
    pod: str | None,
    *,
    file: Path | None,
    namespace: str | None,
    snapshot: Path | None,
    save_snapshot: Path | None,
    kubeconfig: Path | None,
    scheduler_config: Path | None,
    limit: int,
    output: Output,
) -> int:
    """Print where the pods would go and return the exit code; raises CustomSchedulerError."""
    if pod is not None and file is not None:
        raise ConfigurationError("both POD and -f FILE are given; choose one of them")
    if pod is None and file is None and save_snapshot is None:
        raise ConfigurationError("no pod is given; name a POD of the cluster, or a manifest with -f FILE")
    if snapshot is not None and save_snapshot is not None:
        raise ConfigurationError(
            "--snapshot is read in place of a cluster, so --save-snapshot has nothing to save"
        )
    named = _named(pod, namespace) if pod is not None else None
    manifests = list(_pods(file)) if file is not None else []
    configuration = load_configuration(scheduler_config) if scheduler_config else SchedulerConfiguration()
    terminal = Terminal()
    with ExitStack() as stack:
        with closing(terminal.progress()) as progress:
            world = World(progress.show)
            simulation = stack.enter_context(closing(Simulation(world, configuration)))
            if snapshot is not None:
                world.read_snapshot(snapshot)
            else:
                _read_cluster(world, kubeconfig, save_snapshot)
            pods = [
                simulation.from_manifest(manifest, namespace=namespace or DEFAULT_NAMESPACE)
                for manifest in manifests
            ]
            if named is not None:
                pods.append(simulation.live(*named))
        terminal.notes(world.notes)
        fits = True
        for index, each in enumerate(pods):
            told = simulation.decide(each)
            fits = fits and told.node is not None
            if output == "json":
                terminal.json(_document(told), indent=None)
            else:
                if index:
                    terminal.line("")
                _print(told, each, simulation, limit, terminal)
        if not pods and output == "text":
            terminal.line(f"Saved to {save_snapshot}; decide on it with --snapshot {save_snapshot}")
        return 0 if fits else 1


def _named(pod: str, namespace: str | None) -> tuple[str, str]:
    before, slash, name = pod.rpartition("/")
    if slash and namespace not in (None, before):
        raise ConfigurationError(
            f"pod {pod}: is named with another namespace than -n {namespace}; leave one out"
        )
    if not name or "/" in before or (slash and not before):
        raise ConfigurationError(f"pod {pod}: expected NAMESPACE/POD, or POD with -n NAMESPACE")
    return before or namespace or DEFAULT_NAMESPACE, name


def _pods(file: Path) -> Iterator[Manifest]:
    text = read_text(file, standard_input())
    found = 0
    for part in [text] if isinstance(text, Broken) else read_manifests(text, source=str(file)):
        if isinstance(part, Broken):
            line = f":{part.line}" if part.line is not None else ""
            raise ConfigurationError(f"{part.source}{line}: {part.fault}")
        if part.group_kind == POD:
            found += 1
            yield part
    if not found:
        raise ConfigurationError(
            f"{file}: has no Pod in it; a workload's pods are those that kubectl get pods shows"
        )


def _read_cluster(world: World, kubeconfig: Path | None, save_snapshot: Path | None) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(closing(connect(kubeconfig)))
        save_to = stack.enter_context(SnapshotWriter(save_snapshot)) if save_snapshot is not None else None
        world.read_cluster(client, save_to=save_to)


def _document(told: Explanation) -> dict[str, Any]:
    return {
        "pod": told.pod,
        "node": told.node,
        "message": told.message,
        "rankingFault": told.ranking_fault,
        "nodes": [
            {
                "name": verdict.name,
                "feasible": verdict.feasible,
                "reasons": [refusal.reason for refusal in verdict.refusals],
                "scores": verdict.scores,
                "total": verdict.total,
            }
            for verdict in told.nodes
        ],
    }


def _print(told: Explanation, pod: Pod, simulation: Simulation, limit: int, terminal: Terminal) -> None:
    if told.node is not None:
        terminal.line(f"{told.pod} would go to ", (told.node, "bold green"), _rivals(told))
    else:
        terminal.line(f"{told.pod} ", ("would stay pending", "bold red"), f": {told.message}")
    if told.node is not None:
        when, not_asked = "once a node is chosen", simulation.could_refuse(pod)
    else:
        when = "where no node is feasible"
        not_asked = simulation.could_help(pod) if told.nodes and not told.feasible else []
    if not_asked:
        terminal.line(f"Not asked, as they act {when}: {', '.join(not_asked)}")
    profile = simulation.profile_for(pod)
    if pod.spec.scheduler_name != profile:
        terminal.line(
            f"Its schedulerName is {pod.spec.scheduler_name or 'empty'}; this is the answer of profile {profile}"
        )
    feasible = told.feasible
    others = told.nodes[len(feasible) :]
    if feasible:
        terminal.line("")
        if told.ranking_fault is not None:
            terminal.line(f"No total, as the ranking broke off: {told.ranking_fault.message}")
        _print_scores(feasible[:limit], told.node, terminal)
        _print_left_out(len(feasible) - limit, "feasible nodes", terminal)
    if others:
        terminal.line("")
        rows = [(verdict.name, "; ".join(map(_refusal, _by_plugin(verdict)))) for verdict in others[:limit]]
        terminal.table(["NODE", "REFUSED BY"], rows)
        _print_left_out(len(others) - limit, "nodes that are refused", terminal)
        _print_tally(others, terminal)


def _rivals(told: Explanation) -> str:
    return f", one of {told.rivals:,} that share the highest total; one is drawn" if told.rivals > 1 else ""


def _print_scores(verdicts: tuple[NodeVerdict, ...], chosen: str | None, terminal: Terminal) -> None:
    plugins = list(verdicts[0].scores)
    rows: list[list[Cell]] = []
    for verdict in verdicts:
        name: Cell = (verdict.name, "bold green") if verdict.name == chosen else verdict.name
        scores = [_number(verdict.scores[plugin]) for plugin in plugins]
        total = "-" if verdict.total is None else _number(verdict.total)
        rows.append([name, *scores, (total, "bold")])
    terminal.table(["NODE"], rows, numbers=[*plugins, "TOTAL"])


def _print_left_out(number: int, what: str, terminal: Terminal) -> None:
    if number > 0:
        terminal.line(f"and {number:,} more {what}; see them with --limit or -o json")


def _print_tally(verdicts: tuple[NodeVerdict, ...], terminal: Terminal) -> None:
    tally = Counter(_refusal((each.plugin, each.reason)) for verdict in verdicts for each in verdict.refusals)
    terminal.line("")
    terminal.line(
        f"Refused {len(verdicts):,}: " + ", ".join(f"{text} {count:,}" for text, count in tally.most_common())
    )


def _by_plugin(verdict: NodeVerdict) -> list[tuple[str, str]]:
    reasons: dict[str, list[str]] = {}
    for refusal in verdict.refusals:
        reasons.setdefault(refusal.plugin, []).append(refusal.reason)
    return [(plugin, ", ".join(of_plugin)) for plugin, of_plugin in reasons.items()]


def _refusal(said: tuple[str, str]) -> str:
    plugin, reason = said
    return f"{plugin}: {reason}" if plugin else reason


def _number(score: Any) -> str:
    return f"{score:g}" if isinstance(score, float) else f"{score:,}"
