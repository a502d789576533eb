from __future__ import annotations

import pytest

from webhook.scheduling.columns import IntArray
from webhook.scheduling.counters import Counters


def counters(rows: int, *, limit: int = 8) -> Counters[str]:
    made: Counters[str] = Counters(limit=limit)
    for _ in range(rows):
        made.append_row()
    return made


def column(of: Counters[str], key: str) -> list[int]:
    found: IntArray | None = of.get(key)
    assert found is not None
    return list(found)


def test_a_column_starts_with_what_it_is_given_and_is_counted_along() -> None:
    some = counters(3)
    some.make("a", [(0, 2), (2, 5), (0, 1)])

    some.add("a", 1, 4)
    some.add("a", 2, -1)
    some.add("unknown", 0, 9)

    assert column(some, "a") == [3, 4, 4]
    assert some.get("unknown") is None


def test_a_removed_row_is_replaced_by_the_last_and_a_new_one_starts_at_zero() -> None:
    some = counters(3)
    some.make("a", [(0, 1), (1, 2), (2, 3)])

    some.swap_remove(0)
    removed = column(some, "a")
    row = some.append_row()

    assert removed == [3, 2]
    assert (row, column(some, "a")) == (2, [3, 2, 0])


def test_the_column_that_was_not_asked_for_longest_makes_room() -> None:
    some = counters(1, limit=2)
    some.make("old", [(0, 1)])
    some.make("new", [(0, 2)])
    some.get("old")

    dropped = some.make("newest", [])

    assert dropped == "new"
    assert some.get("new") is None
    assert (column(some, "old"), column(some, "newest")) == ([1], [0])


def test_many_rows_and_columns_grow_the_grid() -> None:
    some = counters(10, limit=100)
    for index in range(50):
        some.make(str(index), [(index % 10, index)])
    for _ in range(200):
        some.append_row()
    some.add("49", 209, 7)

    assert column(some, "49") == [0] * 9 + [49] + [0] * 199 + [7]
    assert sum(column(some, "23")) == 23


def test_what_is_handed_out_can_not_be_written_to() -> None:
    some = counters(1)
    some.make("a", [])
    handed_out = some.get("a")

    assert handed_out is not None
    with pytest.raises(ValueError, match="read-only"):
        handed_out[0] = 1
    some.add("a", 0, 1)
    assert column(some, "a") == [1]
