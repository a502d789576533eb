from __future__ import annotations

import random

import pytest

from webhook.scheduling.labels import EVERYTHING, NOTHING, Selector
from webhook.scheduling.objects import LabelSelectorRequirement
from webhook.scheduling.selector_index import SelectorIndex

WEB = Selector((("app", "web"),))
ANY_TIER = Selector((), (LabelSelectorRequirement(key="tier", operator="Exists"),))


def test_what_matches_is_found_by_namespace_and_labels() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    index.add("web in a", WEB, ["a"])
    index.add("web in b and c", WEB, ["b", "c"])
    index.add("web anywhere", WEB, None)
    index.add("tiers in a", ANY_TIER, ["a"])
    index.add("all of a", EVERYTHING, ["a"])
    index.add("nothing", NOTHING, None)

    assert set(index.matching("a", {"app": "web", "tier": "1"})) == {
        "web in a",
        "web anywhere",
        "tiers in a",
        "all of a",
    }
    assert set(index.matching("c", {"app": "web"})) == {"web in b and c", "web anywhere"}
    assert set(index.matching("a", {})) == {"all of a"}
    assert set(index.matching("d", {"app": "db"})) == set()


def test_what_was_removed_is_not_found_and_can_be_added_again() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    index.add("web", WEB, ["a", "b"])

    index.remove("web")
    removed = list(index.matching("a", {"app": "web"}))
    index.add("web", WEB, ["b"])

    assert removed == []
    assert list(index.matching("a", {"app": "web"})) == []
    assert list(index.matching("b", {"app": "web"})) == ["web"]


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_that_of_trying_every_selector(seed: int) -> None:
    rng = random.Random(seed)
    index: SelectorIndex[int] = SelectorIndex()
    items: dict[int, tuple[Selector, list[str] | None]] = {}

    def some_labels() -> dict[str, str]:
        return {key: rng.choice("xyz") for key in "abc" if rng.random() < 0.5}

    for step in range(300):
        if items and rng.random() < 0.3:
            gone = rng.choice(list(items))
            del items[gone]
            index.remove(gone)
        else:
            selector = rng.choice([EVERYTHING, ANY_TIER, NOTHING]).requiring(some_labels())
            namespaces = rng.choice([None, ["n"], ["m", "n"]])
            items[step] = (selector, namespaces)
            index.add(step, selector, namespaces)
        namespace, labels = rng.choice("mno"), some_labels() | ({"tier": "1"} if rng.random() < 0.5 else {})

        found = sorted(index.matching(namespace, labels))

        assert found == sorted(
            item
            for item, (selector, namespaces) in items.items()
            if (namespaces is None or namespace in namespaces) and selector.matches(labels)
        )
