from __future__ import annotations

import json

import pytest

from webhook.inspect.jsontext import JsonValue, parse_json
from webhook.inspect.located import Unreadable

PRETTY = """\
{
  "kind": "List",
  "items": [
    {"name": "a",
     "deep": {"x": [1, 2,
                    {"here": "}],\\""}]}},
    {
      "name": "b"
    }
  ],
  "empty": {}, "none": []
}
"""


def first(text: str) -> JsonValue:
    return next(parse_json(text))


def test_values_follow_one_another_with_or_without_space() -> None:
    assert [value.value() for value in parse_json(' {"a": 1}{"b": 2}\n\n[3] ')] == [{"a": 1}, {"b": 2}, [3]]


def test_each_value_knows_its_line() -> None:
    root = next(parse_json(PRETTY, first_line=5))

    items = root.member("items")
    assert items is not None
    elements = items.elements()
    assert elements is not None
    assert [element.line for element in elements] == [8, 11]
    deep = elements[0].member("deep")
    x = deep.member("x") if deep else None
    assert x is not None
    assert [element.line for element in x.elements() or ()] == [9, 9, 10]


def test_members_are_what_the_json_says_wherever_they_stand() -> None:
    root = first(PRETTY)

    plain = json.loads(PRETTY)
    for key in plain:
        member = root.member(key)
        assert member is not None
        assert member.value() == plain[key]
    assert [element.value() for element in root.member("items").elements()] == plain["items"]  # type: ignore[union-attr]
    assert root.member("empty").member("x") is None  # type: ignore[union-attr]
    assert root.member("none").elements() == []  # type: ignore[union-attr]


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    root = first('{"a": 1,\n"a": 2}')

    member = root.member("a")

    assert member is not None
    assert (member.value(), member.line) == (2, 2)


def test_a_scalar_has_neither_members_nor_elements() -> None:
    value = first('"a"')

    assert value.member("a") is None
    assert value.elements() is None


def test_a_surrogate_pair_is_one_letter() -> None:
    assert first('"\\ud83d\\ude00"').value() == "😀"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('{"a": 1,\n "b": }', 2, "is not JSON"),
        ('{"a": "', 1, "is not JSON: Unterminated string"),
        ('{"a": ' + "9" * 5000 + "}", 1, "has a number that is too long"),
        ('{"a": ' + "[" * 100_000, 1, "is nested too deeply"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, line: int, told: str) -> None:
    with pytest.raises(Unreadable) as caught:
        list(parse_json(text))

    assert caught.value.line == line
    assert told in str(caught.value)


def test_what_comes_before_a_fault_is_given_first() -> None:
    values = parse_json('{"a": 1} {')

    assert next(values).value() == {"a": 1}
    with pytest.raises(Unreadable):
        next(values)
