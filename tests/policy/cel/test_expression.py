from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.cel.expression import Expression, Text, literal, object_literal, text

# What CEL's grammar knows of escapes, as far as a literal in double quotes goes: cel-spec doc/langdef.md.
CEL_ESCAPES = set('"bfnrtu')


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_literal_says_the_text_and_ends_at_its_last_quote(value: str) -> None:
    found = literal(value)

    assert (found[0], found[-1]) == ('"', '"')
    assert json.loads(found) == value
    inside = found[1:-1].replace("\\\\", "")
    assert '"' not in inside.replace('\\"', "")
    assert "\n" not in inside
    assert "\r" not in inside


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_literal_has_no_escape_that_cel_does_not_know(value: str) -> None:
    escapes = literal(value)[1:-1].replace("\\\\", "").split("\\")[1:]

    assert all(escape[0] in CEL_ESCAPES for escape in escapes)


def test_a_text_of_known_parts_is_one_literal() -> None:
    assert text("{a} and {b}", a="one", b=Text("two", "")).expression == '"one and two"'


def test_expressions_stand_between_literals() -> None:
    found = text("{a} is {b}.", a=text("{x}:", x=Expression("object.x")), b=Expression("y"))

    assert found.expression == 'object.x + ": is " + y + "."'


def test_braces_in_a_filled_text_are_no_holes() -> None:
    assert text("{a}!", a="x{1,2}").expression == '"x{1,2}!"'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"key": "a", "values": ["b"]}, 'Object.spec{key: "a", values: ["b"]}'),
        (
            {"weight": 5, "preference": {"x": []}},
            "Object.spec{weight: 5, preference: Object.spec.preference{x: []}}",
        ),
        ({}, "Object.spec{}"),
    ],
)
def test_an_object_is_named_after_its_path(value: object, expected: str) -> None:
    assert object_literal("Object.spec", value) == expected
