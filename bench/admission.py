"""`make bench-admission`: the decision itself, in process: a review's bytes in, a response's bytes out."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence

import click
import msgspec

from bench.report import Figure, print_figures, print_table
from bench.reviews import pod_review
from webhook.admission.mutate import mutate
from webhook.admission.review import Review, decode_review, encode_response
from webhook.admission.validate import validate
from webhook.admission.verdict import Verdict
from webhook.policy.model import Policy, RequiredLabel
from webhook.policy.pattern import Pattern

__all__ = ["BUDGET_MS", "Case", "Timing", "cases", "main", "time_decisions"]

BENCH = "admission"
# p99 of a decision on a pod of 9 KB, in milliseconds.
BUDGET_MS = 0.2

# Linux counts for each thread how often others took its core away; elsewhere the whole process is counted.
_WHOSE = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)

_DEFAULT = Policy(name="default")
_LABELLED = {"custom": "web"}
_OPTED_IN = {"custom": "web", "custom-scheduler.io/opt-in": "true"}
# A backtracking matcher takes time exponential in the length of a value that almost matches.
_PATTERN = "(a|aa)*b"
_PATTERNED = Policy(
    name="patterned", required_labels=(RequiredLabel(key="custom", pattern=Pattern(_PATTERN)),)
)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One body and the decision on it."""

    name: str
    body: bytes
    decide: Callable[[Review], Verdict]

    def run(self) -> bytes:
        """Answer the body as the server does, without the server."""
        review = decode_review(self.body)
        return encode_response(review, self.decide(review))


def cases() -> list[Case]:
    """Return every case, small bodies first."""
    bodies: list[tuple[str, Callable[[dict[str, str]], bytes]]] = [
        ("3KB", lambda labels: pod_review(size=3 << 10, labels=labels)),
        ("9KB", lambda labels: pod_review(size=9 << 10, labels=labels)),
        ("90KB", lambda labels: pod_review(size=90 << 10, labels=labels)),
        ("1500env", lambda labels: pod_review(env=1500, labels=labels)),
    ]
    found = []
    for name, body in bodies:
        found += [
            Case(name=f"{name}/allow", body=body(_LABELLED), decide=_validate),
            Case(name=f"{name}/deny", body=body({}), decide=_validate),
            Case(name=f"{name}/mutate", body=body(_OPTED_IN), decide=_mutate),
        ]
    for length in (1_000, 10_000, 100_000):
        body_with_value = pod_review(labels={"custom": "a" * length})
        found.append(Case(name=f"pattern/{length // 1000}KB", body=body_with_value, decide=_match))
    return found


def _validate(review: Review) -> Verdict:
    return validate(review, _DEFAULT)


def _mutate(review: Review) -> Verdict:
    return mutate(review, _DEFAULT, opted_in_by="pod")


def _match(review: Review) -> Verdict:
    return validate(review, _PATTERNED)


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How long decisions on one body take, in milliseconds.

    `p99_alone` is of those that no other process interrupted, and so the decision's own.
    """

    p50: float
    p99: float
    p99_alone: float


def time_decisions(case: Case, decisions: int) -> Timing:
    """Return milliseconds that one decision takes."""
    clock = time.perf_counter_ns
    samples = []
    alone = []
    for _ in range(decisions):
        interruptions = _interruptions()
        started = clock()
        case.run()
        taken = clock() - started
        samples.append(taken)
        if _interruptions() == interruptions:
            alone.append(taken)
    cuts = statistics.quantiles(samples, n=100)
    cuts_alone = statistics.quantiles(alone, n=100) if len(alone) > 1 else cuts
    return Timing(p50=cuts[49] / 1e6, p99=cuts[98] / 1e6, p99_alone=cuts_alone[98] / 1e6)


def _interruptions() -> int:
    return resource.getrusage(_WHOSE).ru_nivcsw


@click.command(epilog="Example: make bench-admission")
@click.option(
    "--runs", type=click.IntRange(1), default=5, show_default=True, help="Rounds through all cases."
)
@click.option(
    "--decisions", type=click.IntRange(2), default=2000, show_default=True, help="In each round of a case."
)
def main(*, runs: int, decisions: int) -> None:
    """Measure how long a decision takes at several sizes of body; p50 and p99 are medians over the runs.

    "Alone" leaves out the decisions during which another process took the core."""
    measured = cases()
    timings: dict[str, list[Timing]] = {case.name: [] for case in measured}
    for case in measured:
        case.run()
    for _ in range(runs):
        for case in measured:
            timings[case.name].append(time_decisions(case, decisions))
    medians = {name: _median(found) for name, found in timings.items()}
    print_table(
        f"One decision in process, {runs} runs of {decisions} decisions",
        ("case", "body KB", "p50 ms", "p99 ms", "p99 ms alone", "p50 µs per KB"),
        [_row(case, medians[case.name]) for case in measured],
    )
    for line in _growth(measured, medians):
        click.echo(line)
    print_figures(
        Figure(bench=BENCH, case=case.name, unit=unit, ours=round(ours, 5), runs=runs)
        for case in measured
        for unit, ours in (
            ("p50 ms", medians[case.name].p50),
            ("p99 ms", medians[case.name].p99),
            ("p99 ms alone", medians[case.name].p99_alone),
        )
    )


def _median(timings: Sequence[Timing]) -> Timing:
    return Timing(
        p50=statistics.median(timing.p50 for timing in timings),
        p99=statistics.median(timing.p99 for timing in timings),
        p99_alone=statistics.median(timing.p99_alone for timing in timings),
    )


def _row(case: Case, timing: Timing) -> tuple[str, ...]:
    kilobytes = len(case.body) / 1024
    return (
        case.name,
        f"{kilobytes:.1f}",
        f"{timing.p50:.4f}",
        f"{timing.p99:.4f}",
        f"{timing.p99_alone:.4f}",
        f"{timing.p50 * 1000 / kilobytes:.2f}",
    )


def _growth(measured: Sequence[Case], medians: dict[str, Timing]) -> list[str]:
    """Return sentences that set the growth of the time beside that of the body."""
    by_name = {case.name: case for case in measured}
    lines = []
    for small, large in (("9KB/allow", "90KB/allow"), ("pattern/10KB", "pattern/100KB")):
        grown = len(by_name[large].body) / len(by_name[small].body)
        slower = medians[large].p50 / medians[small].p50
        lines.append(f"{large}: a body {grown:.1f} times that of {small} takes {slower:.1f} times as long.")
    deny = medians["9KB/deny"]
    within = "within" if deny.p99_alone < BUDGET_MS else "NOT within"
    lines.append(
        f"9KB/deny: p99 {deny.p99_alone:.4f} ms alone, {within} the budget of {BUDGET_MS} ms; "
        f"{deny.p99:.4f} ms with the decisions that other processes interrupted."
    )
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        lines.append(
            f"The machine was busy (load {load:.1f} on {cores} cores): it is what p99 tells of then."
        )
    return lines


if __name__ == "__main__":
    main()
