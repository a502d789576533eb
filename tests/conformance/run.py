"""Many seeds, one after the other, and what came of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.conformance.compare import Disagreement, disagreements
from tests.conformance.generator import ALL_FEATURES, scenario
from tests.conformance.model import Answer, Record, Scenario

__all__ = ["Run", "run"]


@dataclass
class Run:
    """The sum of it. `recorded` are the first records, those without a disagreement.

    `asked_again` counts the scenarios that the oracle had to go through once more.
    """

    seeds: int = 0
    cases: int = 0
    unschedulable: int = 0
    features: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(ALL_FEATURES, 0)))
    reasons: Counter[str] = field(default_factory=Counter)
    ranking: Counter[str] = field(default_factory=Counter)
    disagreements: list[tuple[Record, Disagreement]] = field(default_factory=list)
    recorded: list[Record] = field(default_factory=list)
    asked_again: int = 0
    # On the disagreements, for people.
    remarks: list[str] = field(default_factory=list)

    def add(self, record: Record, *, keep: int) -> None:
        """Compare a record with our answers, and count."""
        found = list(disagreements(record))
        self.disagreements += ((record, each) for each in found)
        if not found and len(self.recorded) < keep:
            self.recorded.append(record)
        self.seeds += 1
        self.cases += len(record.attempts)
        self.features.update(record.scenario.features)
        answers = [attempt.answer for attempt in record.attempts]
        self.unschedulable += any(answer.reason == "Unschedulable" for answer in answers)
        self.reasons.update({reason for answer in answers for reason in _reasons(answer)})
        self.ranking.update({plugin for answer in answers for plugin in _ranking(answer)})

    def share(self, seeds: int) -> float:
        """Return a number of seeds as a share of all."""
        return seeds / self.seeds if self.seeds else 0.0


def run(
    seeds: Iterable[int],
    ask: Callable[[Scenario], Record],
    *,
    keep: int = 0,
    progress: Callable[[Run], None] = lambda _run: None,
) -> Run:
    """Ask the oracle about each seed and compare; `keep` records stay in memory."""
    result = Run()
    for seed in seeds:
        result.add(ask(scenario(seed)), keep=keep)
        progress(result)
    return result


def _reasons(answer: Answer) -> Iterable[str]:
    """What the message gives as reasons, without names and numbers of nodes."""
    if not answer.message:
        return ()
    if "nodes are available:" not in answer.message:
        return (answer.message,)
    told = re.sub(r'"[^"]*"', "…", answer.message.partition(": ")[2].removesuffix("."))
    return (re.sub(r"^\d+ ", "", reason) for reason in told.split(", "))


def _ranking(answer: Answer) -> Iterable[str]:
    """The plugins that rank the feasible nodes: that don't score them all alike."""
    return (plugin for plugin, scores in answer.scores.items() if len(set(scores.values())) > 1)
