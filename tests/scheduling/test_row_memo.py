from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from webhook.scheduling import row_memo
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.row_memo import RowMemo
from webhook.scheduling.testing import make_cache, make_node, make_pod


class Table:
    """Some numbers, and how often each was read."""

    def __init__(self, length: int) -> None:
        self.numbers = np.arange(length)
        self.reads: list[list[int] | None] = []

    def answer(self, rows: npt.NDArray[np.intp] | None) -> npt.NDArray[np.int64]:
        self.reads.append(None if rows is None else rows.tolist())
        return self.numbers.copy() if rows is None else self.numbers[rows]


def test_only_what_has_changed_is_asked_again() -> None:
    memo, table = RowMemo(), Table(80)
    memo.get("q", 80, table.answer)

    for row in (7, 3, 7):
        table.numbers[row] = -row
        memo.changed(row)
    column = memo.get("q", 80, table.answer)
    memo.get("q", 80, table.answer)

    assert column.tolist() == table.numbers.tolist()
    assert table.reads == [None, [3, 7]]


def test_each_question_has_its_own_answer_and_catches_up_by_itself() -> None:
    memo, one, other = RowMemo(), Table(80), Table(80)
    memo.get("one", 80, one.answer)
    memo.changed(1)
    memo.get("other", 80, other.answer)
    memo.changed(2)

    memo.get("one", 80, one.answer)
    memo.get("other", 80, other.answer)

    assert (one.reads, other.reads) == ([None, [1, 2]], [None, [2]])


def test_after_many_changes_all_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_memo, "_LONGEST_LOG", 8)
    memo, long_ago, table = RowMemo(), Table(1000), Table(80)
    memo.get("long ago", 1000, long_ago.answer)
    memo.get("q", 80, table.answer)

    for row in range(11):
        memo.changed(row)
    memo.get("q", 80, table.answer)
    memo.get("long ago", 1000, long_ago.answer)
    memo.changed(5)
    memo.get("long ago", 1000, long_ago.answer)

    assert table.reads == [None, None]
    assert long_ago.reads == [None, None, [5]]


def test_after_rows_have_moved_all_is_asked_anew() -> None:
    memo, table = RowMemo(), Table(80)
    memo.get("q", 80, table.answer)

    memo.clear()
    memo.get("q", 79, Table(79).answer)

    assert len(memo.get("q", 79, table.answer)) == 79
    assert table.reads == [None]


def test_the_question_asked_longest_ago_is_forgotten() -> None:
    memo, table = RowMemo(limit=2), Table(80)
    for question in ("a", "b", "a", "c", "a", "b"):
        memo.get(question, 80, table.answer)

    assert len(table.reads) == 4


def test_an_answer_can_not_be_written_to() -> None:
    column = RowMemo().get("q", 80, Table(80).answer)

    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1


def test_whatever_happens_to_the_nodes_is_in_the_answer() -> None:
    cache = make_cache(*(make_node(f"n{index}", cpu="4") for index in range(40)))

    def free() -> dict[str, int]:
        nodes = Nodes(cache.table)
        column = nodes.remembered("free", lambda some: some.allocatable("cpu") - some.requested("cpu"))
        return dict(zip(nodes.names, column.tolist(), strict=True))

    expected = free()
    cache.assume(make_pod("p", cpu="1"), "n3")
    cache.set_node(make_node("n5", cpu="9"))
    expected |= {"n3": 3000, "n5": 9000}
    assert free() == expected
    cache.forget(make_pod("p", cpu="1"))
    cache.remove_node("n0")
    expected["n3"] = 4000
    del expected["n0"]
    assert free() == expected
    cache.set_node(make_node("new", cpu="2"))
    cache.set_pod(make_pod("q", cpu="500m", node="new"))
    assert free() == expected | {"new": 1500}
