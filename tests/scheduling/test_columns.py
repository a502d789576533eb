from __future__ import annotations

from functools import partial

import numpy as np

from webhook.scheduling.columns import ColumnCache, InternedColumn


def test_questions_are_answered_row_by_row() -> None:
    values = InternedColumn(["a", "b", "a", None]).values(None)

    assert values.equal("a").tolist() == [True, False, True, False]
    assert values.equal("z").tolist() == [False] * 4
    assert values.is_in(["b", None, "z"]).tolist() == [False, True, False, True]
    assert values.where(lambda value: value is not None).tolist() == [True, True, True, False]
    assert values.count(lambda value: len(value or "")).tolist() == [1, 1, 1, 0]


def test_questions_can_be_asked_of_some_rows() -> None:
    values = InternedColumn(["a", "b", "c"]).values(np.array([2, 0]))

    assert values.equal("a").tolist() == [False, True]
    assert values.where(lambda value: value == "c").tolist() == [True, False]


def test_a_predicate_is_asked_once_per_distinct_value() -> None:
    asked = list[str]()

    def predicate(value: str) -> bool:
        asked.append(value)
        return True

    InternedColumn(["a", "b"] * 50).values(None).where(predicate)

    assert sorted(asked) == ["a", "b"]


def test_values_that_no_row_holds_any_more_are_forgotten() -> None:
    column = InternedColumn(["a", "b"])
    asked = list[str]()

    def predicate(value: str) -> bool:
        asked.append(value)
        return True

    column.set(0, "c")
    column.swap_remove(1)
    column.values(None).where(predicate)

    assert asked == ["c"]
    assert column.values(None).equal("b").tolist() == [False]


def test_setting_the_same_value_keeps_it() -> None:
    column = InternedColumn(["a"])

    column.set(0, "a")

    assert column.values(None).equal("a").tolist() == [True]


def test_only_the_columns_asked_for_lately_are_kept() -> None:
    built = list[str]()
    cache: ColumnCache[str, str] = ColumnCache(limit=2)

    def build(key: str) -> list[str]:
        built.append(key)
        return ["x"]

    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, partial(build, key))

    assert built == ["a", "b", "c", "b"]
