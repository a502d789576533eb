from __future__ import annotations

import pytest

from webhook.scheduling import changed_rows
from webhook.scheduling.changed_rows import ChangedRows


def rows_since(changes: ChangedRows, then: int) -> list[int] | None:
    rows = changes.since(then)
    return None if rows is None else rows.tolist()


def test_each_row_that_has_changed_is_told_once_and_in_order() -> None:
    changes = ChangedRows()
    changes.add(1)
    then = changes.now
    for row in (7, 3, 7):
        changes.add(row)

    assert rows_since(changes, then) == [3, 7]
    assert rows_since(changes, 0) == [1, 3, 7]
    assert rows_since(changes, changes.now) == []


def test_what_was_asked_before_is_not_told_of_later_changes() -> None:
    changes = ChangedRows()
    changes.add(1)

    assert rows_since(changes, 0) == [1]
    changes.add(2)
    assert rows_since(changes, 0) == [1, 2]
    assert rows_since(changes, 1) == [2]


def test_after_rows_have_moved_nothing_is_known() -> None:
    changes = ChangedRows()
    changes.add(1)
    then = changes.now
    changes.clear()

    assert changes.since(then) is None
    assert rows_since(changes, changes.now) == []


def test_what_lies_too_far_back_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_rows, "_LONGEST_LOG", 8)
    changes = ChangedRows()
    for row in range(9):
        changes.add(row)

    assert changes.since(0) is None
    assert rows_since(changes, 7) == [7, 8]
