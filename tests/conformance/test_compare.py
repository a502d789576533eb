from __future__ import annotations

import msgspec
import pytest

from tests.conformance.compare import differences
from tests.conformance.model import Answer

BOTH = frozenset({"a", "b"})
THEIRS = Answer(feasible=BOTH, choice="b", scores={"Fit": {"a": 90, "b": 80}, "Skipped": {"a": 0, "b": 0}})
PENDING = Answer(reason="Unschedulable", message="0/2 nodes are available: 2 Too many pods.")


def test_the_best_node_will_do_whatever_an_extender_preferred() -> None:
    assert differences(THEIRS, Answer(feasible=BOTH, choice="a", scores={"Fit": {"a": 90, "b": 80}})) == []


def test_what_is_said_of_preemption_is_left_out() -> None:
    theirs = msgspec.structs.replace(
        PENDING, message=f"{PENDING.message} preemption: 0/2 nodes are available."
    )

    assert differences(theirs, PENDING) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        (THEIRS, msgspec.structs.replace(THEIRS, choice="b"), ["best nodes: a, our choice: b"]),
        (
            THEIRS,
            msgspec.structs.replace(THEIRS, choice="a", scores={"Fit": {"a": 91, "b": 80}}),
            ["score of Fit for a: 90, ours: 91"],
        ),
        (
            THEIRS,
            Answer(feasible=frozenset({"a"}), choice="a"),
            ["feasible nodes: a, b, ours: a"],
        ),
        (
            PENDING,
            msgspec.structs.replace(PENDING, message="0/2 nodes are available: 2 Insufficient cpu."),
            [
                "message: '0/2 nodes are available: 2 Too many pods.', ours: '0/2 nodes are available: 2 Insufficient cpu.'"
            ],
        ),
        (
            PENDING,
            msgspec.structs.replace(PENDING, reason="Unsupported"),
            ["reason: 'Unschedulable', ours: 'Unsupported'"],
        ),
    ],
)
def test_each_difference_is_told(theirs: Answer, ours: Answer, said: list[str]) -> None:
    assert differences(theirs, ours) == said
