from __future__ import annotations

from typing import Any

import pytest

from webhook.inspect import yamltext
from webhook.inspect.located import Unreadable
from webhook.inspect.yamltext import YamlValue, parse_yaml


def parsed(text: str) -> YamlValue:
    value = parse_yaml(text)
    assert value is not None
    return value


def fault(text: str) -> tuple[int, str]:
    with pytest.raises(Unreadable) as caught:
        parse_yaml(text)
    return caught.value.line, str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", {"a": 1}),
        ("a: yes", {"a": True}),
        ('a: "yes"', {"a": "yes"}),
        ("a: ~", {"a": None}),
        ("a: !!str 5", {"a": "5"}),
        ("a: !!binary aGk=", {"a": b"hi"}),
        ("yes: 1", {"true": 1}),
        ("8080: web", {"8080": "web"}),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("plain", "plain"),
    ],
)
def test_values_are_read_as_kubernetes_reads_them(text: str, expected: Any) -> None:
    assert parsed(text).value() == expected


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T10:00:00Z", "="])
def test_what_only_pyyaml_takes_for_more_than_a_string_stays_one(text: str) -> None:
    assert parsed(f"a: {text}").value() == {"a": text}


@pytest.mark.parametrize("text", ["", "# a comment\n", "---\n", "---\n# nothing\n...\n"])
def test_a_document_of_nothing_is_none(text: str) -> None:
    assert parse_yaml(text) is None


def test_each_value_knows_its_line() -> None:
    root = parse_yaml("\na:\n  b: 1\nc:\n- x\n- y\n", first_line=10)

    assert root is not None
    assert root.line == 11
    assert [root.content["a"].line, root.content["a"].content["b"].line] == [12, 12]
    assert [element.line for element in root.content["c"].elements() or ()] == [14, 15]


def test_an_alias_stands_for_its_value() -> None:
    assert parsed("a: &x {b: [1]}\nc: *x\nd: &y 5\ne: *y").value() == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": 5,
        "e": 5,
    }


def test_a_merge_fills_in_what_is_not_written_out() -> None:
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nboth: {<<: [*one, *two], a: 0}\nsingle:\n  <<: *two\n"

    value = parsed(text).value()

    assert value["both"] == {"a": 0, "b": 1, "c": 2}
    assert value["single"] == {"b": 2, "c": 2}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: [\n\n", 1, "is not YAML"),
        ("a: b: c", 1, "is not YAML: mapping values are not allowed"),
        ("ok: 1\n\tb: 1", 2, "is not YAML"),
        ("a: 1\nb: 2\na: 3", 3, "has the key 'a' twice, first in line 1"),
        ("a: 1\n'a': 3", 2, "has the key 'a' twice"),
        ("a: *nothing", 1, "has the alias *nothing, and nothing before it is named so"),
        ("a: &a\n- *a", 2, "has the alias *a inside of what it stands for"),
        ("a: !Ref x", 1, "has 'x', which can't be read as !Ref"),
        ("? {a: 1}\n: b", 1, "has a mapping or a list as a key"),
        ("<<: 5", 1, "merges what is no mapping"),
        ("a: 1\n---\nb: 2\n", 2, "begins another document"),
        ("a: !!int " + "9" * 5000, 1, "which can't be read as int"),
        ("a: \x07", 1, "is not YAML"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, line: int, told: str) -> None:
    found_line, found = fault(text)

    assert found_line == line
    assert told in found


def test_depth_is_bounded() -> None:
    deepest = yamltext.MAX_DEPTH

    assert parse_yaml("[" * deepest + "]" * deepest) is not None
    assert f"is nested deeper than {deepest} levels" in fault("[" * (deepest + 1))[1]


def test_aliases_of_aliases_cannot_grow_without_bound() -> None:
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]

    assert "with its aliases written out" in fault("\n".join(bomb))[1]


def test_merges_of_merges_cannot_grow_without_bound() -> None:
    bomb = ["a0: &a0 {x: 1, y: 2}"]
    bomb += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 30)]

    assert "with its aliases written out" in fault("\n".join(bomb))[1]
