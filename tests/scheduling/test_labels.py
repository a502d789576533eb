from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.labels import EVERYTHING, NOTHING, Selector
from webhook.scheduling.objects import LabelSelector


def selector(*expressions: tuple[str, str, list[str]], **labels: str) -> Selector:
    manifest: dict[str, Any] = {
        "matchLabels": labels,
        "matchExpressions": [
            {"key": key, "operator": operator, "values": values} for key, operator, values in expressions
        ],
    }
    return Selector.of(msgspec.convert(manifest, LabelSelector))


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ["a", "b"], {"k": "b"}, True),
        ("In", ["a", "b"], {"k": "c"}, False),
        ("In", ["a"], {}, False),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("NotIn", ["a"], {"k": "b"}, True),
        ("NotIn", ["a"], {}, True),
        ("Exists", [], {"k": ""}, True),
        ("Exists", [], {}, False),
        ("DoesNotExist", [], {"k": ""}, False),
        ("DoesNotExist", [], {}, True),
        ("Near", ["a"], {"k": "a"}, False),
    ],
)
def test_an_expression_holds_as_in_kubernetes(
    operator: str, values: list[str], labels: dict[str, str], expected: bool
) -> None:
    assert selector(("k", operator, values)).matches(labels) is expected


def test_labels_and_expressions_must_all_hold() -> None:
    both = selector(("tier", "Exists", []), app="web")

    assert both.matches({"app": "web", "tier": "1", "more": ""})
    assert not both.matches({"app": "web"})
    assert not both.matches({"app": "db", "tier": "1"})


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not Selector.of(None).matches({"app": "web"})
    assert Selector.of(LabelSelector()).matches({"app": "web"})
    assert (Selector.of(None).is_empty, Selector.of(LabelSelector()).is_empty) == (False, True)


def test_the_order_of_labels_makes_no_difference_to_a_key() -> None:
    keys = {selector(a="1", b="2"), selector(b="2", a="1")}

    assert len(keys) == 1


def test_requiring_more_narrows_a_selector_and_leaves_the_impossible_impossible() -> None:
    assert EVERYTHING.requiring({"app": "web"}) == selector(app="web")
    assert not selector(app="web").requiring({"app": "db"}).matches({"app": "db"})
    assert not NOTHING.requiring({"app": "web"}).matches({"app": "web"})


def test_both_of_two_selectors_match_what_each_does() -> None:
    both = selector(app="web").both(selector(("tier", "In", ["1"]), app="web"))

    assert both == selector(("tier", "In", ["1"]), app="web")
    assert not selector(app="web").both(NOTHING).matches({"app": "web"})
