"""Why a pod goes where it goes: for each node what the plugins had against it, or how they scored it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from webhook.scheduling.framework import Framework
from webhook.scheduling.messages import SCHEDULING_GATED
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Diagnosis, Placement
from webhook.scheduling.record import Record
from webhook.scheduling.table import NodeTable, Rows

__all__ = ["Explanation", "NodeVerdict", "RankingFault", "Refusal", "explain", "refusals"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One thing that speaks against a node; `plugin` is empty where no single plugin said so."""

    plugin: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeVerdict:
    """What came of one node. `scores` are weighted, by plugin; plugins that had no say are left out.

    `total` is None where a plugin failed before all had been asked.
    """

    name: str
    refusals: tuple[Refusal, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    total: float | None = 0

    @property
    def feasible(self) -> bool:
        """Whether the pod could run there."""
        return not self.refusals


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingFault:
    """The plugin at which the ranking of the feasible nodes broke off, and why."""

    plugin: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A decision on the pod `namespace/name`, with its reasons.

    `message` is what the condition would say, empty where a node was found. `nodes` has the feasible ones first,
    best first, and then the others by name; it is empty where no node was looked at. With a `ranking_fault` there is no
    best; a node without rivals is chosen all the same.
    """

    pod: str
    node: str | None
    message: str
    nodes: tuple[NodeVerdict, ...] = ()
    ranking_fault: RankingFault | None = None

    @property
    def feasible(self) -> tuple[NodeVerdict, ...]:
        """The nodes that the pod could run on."""
        return tuple(verdict for verdict in self.nodes if verdict.feasible)

    @property
    def rivals(self) -> int:
        """How many nodes share the highest total; one of them is drawn."""
        feasible = self.feasible
        return sum(verdict.total == feasible[0].total for verdict in feasible)


def explain(framework: Framework, table: NodeTable, pod: Pod) -> Explanation:
    """Decide on a pod as the scheduler does, over the table that the framework decides on.

    Nothing is done: plugins that would have a word after the choice (Reserve, Permit), or without one (PostFilter),
    aren't asked.
    """
    gate = framework.pre_enqueue(pod)
    if not gate.is_success:
        message = SCHEDULING_GATED if pod.spec.scheduling_gates else gate.message
        return Explanation(pod=pod.key, node=None, message=message)
    record = Record()
    decision = framework.schedule(pod, record)
    node, message = (decision.node_name, "") if isinstance(decision, Placement) else (None, decision.message)
    fault = record.ranking_fault
    return Explanation(
        pod=pod.key,
        node=node,
        message=message,
        nodes=_verdicts(record, table, chosen=node or ""),
        ranking_fault=None if fault is None else RankingFault(plugin=fault.plugin, message=str(fault)),
    )


def _verdicts(record: Record, table: NodeTable, *, chosen: str) -> tuple[NodeVerdict, ...]:
    if record.diagnosis is None or record.feasible is None:
        return ()
    verdicts = []
    totals = [None] * len(record.feasible) if record.total is None else record.total.tolist()
    scores = {plugin: weighted.tolist() for plugin, weighted in record.scores.items()}
    for position, row in enumerate(record.feasible.tolist()):
        of_node = {plugin: weighted[position] for plugin, weighted in scores.items()}
        verdicts.append(NodeVerdict(name=table.node(row).name, scores=of_node, total=totals[position]))
    for name, said in refusals(record.diagnosis, record.feasible, table).items():
        verdicts.append(NodeVerdict(name=name, refusals=said))
    # Of equals, the chosen one goes first.
    verdicts.sort(key=lambda each: (not each.feasible, -(each.total or 0), each.name != chosen, each.name))
    return tuple(verdicts)


def refusals(diagnosis: Diagnosis, feasible: Rows, table: NodeTable) -> dict[str, tuple[Refusal, ...]]:
    """Return what speaks against each node that isn't feasible, by its name."""
    by_row = _refusals(diagnosis)
    others = tuple(_said_of_all(diagnosis))
    infeasible = sorted(set(range(len(table))).difference(feasible.tolist()))
    return {table.node(row).name: tuple(by_row[row]) if row in by_row else others for row in infeasible}


def _refusals(diagnosis: Diagnosis) -> dict[int, list[Refusal]]:
    """Return what the filters said, by row."""
    found: defaultdict[int, list[Refusal]] = defaultdict(list)
    for rejection in diagnosis.rejections:
        for index, reason in enumerate(rejection.reasons):
            refusal = Refusal(plugin=rejection.plugin, reason=reason.text)
            for row in rejection.with_reason(index).tolist():
                found[row].append(refusal)
    return found


def _said_of_all(diagnosis: Diagnosis) -> Iterable[Refusal]:
    """Yield what holds for the nodes that no filter refused by itself."""
    for status in (diagnosis.pre_filter, diagnosis.absent):
        if status is not None:
            yield from (Refusal(plugin=status.plugin, reason=reason) for reason in status.reasons)
