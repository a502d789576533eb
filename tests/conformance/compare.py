"""What is the same, and what isn't, in the answers of two schedulers."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.model import Answer, Case, Record
from tests.conformance.ours import OurScheduler

__all__ = ["Disagreement", "differences", "disagreements", "replay"]

# Where kube-scheduler tells of preemption, which isn't compared.
_PREEMPTION = " preemption:"

Disagreement = tuple[int, list[str]]


def differences(theirs: Answer, ours: Answer) -> list[str]:
    """Say in which ways our answer isn't kube-scheduler's; empty if it is as good."""
    return list(_differences(theirs, ours))


def disagreements(record: Record) -> Iterator[Disagreement]:
    """Yield the index of each attempt whose answer isn't ours, with the differences."""
    scheduler = OurScheduler(record.world)
    for index, attempt in enumerate(record.attempts):
        found = differences(attempt.answer, scheduler.answer(attempt.pod))
        if found:
            yield index, found
        if attempt.answer.choice:
            scheduler.assume(attempt.pod, attempt.answer.choice)


def replay(case: Case) -> list[str]:
    """Return in which ways our answer to a kept case isn't the one that kube-scheduler gave."""
    answer = OurScheduler(case.world).answer(case.attempt.pod)
    return differences(case.attempt.answer, answer)


def _differences(theirs: Answer, ours: Answer) -> Iterator[str]:
    if theirs.feasible != ours.feasible:
        yield f"feasible nodes: {_names(theirs.feasible)}, ours: {_names(ours.feasible)}"
    if theirs.reason != ours.reason:
        yield f"reason: {theirs.reason!r}, ours: {ours.reason!r}"
    said = theirs.message.partition(_PREEMPTION)[0]
    if theirs.reason == "Unschedulable" and said != ours.message:
        yield f"message: {said!r}, ours: {ours.message!r}"
    if theirs.feasible == ours.feasible:
        # kube-scheduler scores no node that has no rival.
        if len(theirs.feasible) > 1:
            yield from _score_differences(theirs, ours)
        elif theirs.choice != ours.choice:
            yield f"choice: {theirs.choice}, ours: {ours.choice}"


def _score_differences(theirs: Answer, ours: Answer) -> Iterator[str]:
    for plugin in sorted({*theirs.scores, *ours.scores}):
        # A plugin that has nothing to say of a pod may be skipped.
        left, right = theirs.scores.get(plugin, {}), ours.scores.get(plugin, {})
        wrong = {
            node: (left.get(node, 0), right.get(node, 0))
            for node in sorted(theirs.feasible)
            if left.get(node, 0) != right.get(node, 0)
        }
        for node, (score, our_score) in wrong.items():
            yield f"score of {plugin} for {node}: {score}, ours: {our_score}"
    best = _best(theirs)
    if ours.choice not in best:
        yield f"best nodes: {_names(best)}, our choice: {ours.choice}"


def _best(answer: Answer) -> frozenset[str]:
    totals = {node: sum(by_node[node] for by_node in answer.scores.values()) for node in answer.feasible}
    highest = max(totals.values())
    return frozenset(node for node, total in totals.items() if total == highest)


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
