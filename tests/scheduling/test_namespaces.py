from __future__ import annotations

import msgspec

from webhook.scheduling.labels import EVERYTHING, Selector
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.objects import LabelSelectorRequirement, Namespace

TEAM_A = EVERYTHING.requiring({"team": "a"})
NO_TEAM = Selector((), (LabelSelectorRequirement(key="team", operator="DoesNotExist"),))


def namespace(name: str, **labels: str) -> Namespace:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Namespace)


def test_namespaces_are_selected_by_their_labels_as_they_are_now() -> None:
    namespaces = Namespaces()
    namespaces.set(namespace("one", team="a"))
    namespaces.set(namespace("two", team="b"))
    before = namespaces.selected_by(TEAM_A)

    namespaces.set(namespace("two", team="a"))
    changed = namespaces.selected_by(TEAM_A)
    namespaces.remove("one")

    assert [before, changed, namespaces.selected_by(TEAM_A)] == [{"one"}, {"one", "two"}, {"two"}]


def test_a_namespace_that_is_not_known_has_no_labels_and_is_selected_by_nothing() -> None:
    namespaces = Namespaces()
    namespaces.remove("one")

    assert namespaces.labels("one") == {}
    assert namespaces.selected_by(NO_TEAM) == frozenset()
    namespaces.set(namespace("one"))
    assert namespaces.selected_by(NO_TEAM) == {"one"}


def test_any_number_of_selectors_may_be_asked_for() -> None:
    namespaces = Namespaces()
    namespaces.set(namespace("one", n="7"))

    answers = [namespaces.selected_by(EVERYTHING.requiring({"n": str(n)})) for n in range(3000)]

    assert [n for n, answer in enumerate(answers) if answer] == [7]
