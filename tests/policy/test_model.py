from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.policy.files import DEFAULT, parse, parse_spec
from webhook.policy.model import Policy, RequiredLabel
from webhook.policy.pattern import Pattern


@pytest.mark.parametrize(
    ("rule", "accepted", "refused"),
    [
        (RequiredLabel(key="custom"), ["", "a"], [None]),
        (
            RequiredLabel(key="custom", allowed_values=("batch", "web")),
            ["batch", "web"],
            [None, "", "Web", "webs"],
        ),
        (RequiredLabel(key="custom", pattern=Pattern("[a-z]+")), ["a", "abc"], [None, "", "a1", "1a", "a\n"]),
        (RequiredLabel(key="custom", pattern=Pattern("a|ab")), ["a", "ab"], ["abc", "b"]),
        (RequiredLabel(key="custom", pattern=Pattern("")), [""], [None, "a"]),
    ],
)
def test_rule_accepts_whole_values_only(
    rule: RequiredLabel, accepted: list[str | None], refused: list[str | None]
) -> None:
    assert [value for value in accepted if not rule.accepts(value)] == []
    assert [value for value in refused if rule.accepts(value)] == []


def test_generation_is_48_bits_of_the_meaning() -> None:
    generation = parse_spec("{}").generation

    assert 0 < generation < 2**48
    assert float(generation) == generation


def test_generation_ignores_comments_order_of_keys_and_written_defaults() -> None:
    shuffled = parse_spec(
        "{workloads: Warn, exempt: {namespaces: [custom-scheduler, kube-system]}} # comment"
    )

    assert shuffled.generation == parse(DEFAULT).generation


@pytest.mark.parametrize(
    "spec",
    [
        "{workloads: Off}",
        "{requiredLabels: []}",
        "{requiredLabels: [{key: custom, pattern: a}]}",
        "{requiredLabels: [{key: custom, pattern: b}]}",
        "{exempt: {namespaces: [ci]}}",
        "{exempt: {users: [ci]}}",
        "{placement: {verify: Off}}",
        "{placement: {nodeAffinity: {required: []}}}",
    ],
)
def test_generation_follows_every_change_of_meaning(spec: str) -> None:
    assert parse_spec(spec).generation != parse_spec("{}").generation


def test_generation_keeps_the_order_of_rules_and_forgets_that_of_sets() -> None:
    a, b = RequiredLabel(key="a"), RequiredLabel(key="b")

    assert (
        Policy(name="x", required_labels=(a, b)).generation
        != Policy(name="x", required_labels=(b, a)).generation
    )
    many = [f"namespace-{number}" for number in range(100)]
    first, second = (parse_spec(f"{{exempt: {{namespaces: {names}}}}}") for names in (many, many[::-1]))
    assert first.generation == second.generation


def test_patterns_are_equal_by_their_text() -> None:
    rule = RequiredLabel(key="a", pattern=Pattern("x+"))

    assert rule == replace(rule, pattern=Pattern("x+"))
    assert hash(rule) == hash(replace(rule, pattern=Pattern("x+")))
    assert rule != replace(rule, pattern=Pattern("x*"))
    assert repr(Pattern("x+")) == "Pattern('x+')"


def test_pattern_takes_time_linear_in_the_value() -> None:
    # With backtracking this one doubles with each letter.
    assert not Pattern("(a+)+b").matches("a" * 100_000)
