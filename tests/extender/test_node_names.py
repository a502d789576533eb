from __future__ import annotations

import json

import msgspec
import pytest

from webhook.extender.node_names import NodeNames
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.testing import make_cache, make_node


def test_nodes_are_found_in_whatever_order_they_are_named() -> None:
    cache = make_cache(*(make_node(name) for name in ("a", "b", "c")))

    found = NodeNames(cache.table).find(b'["c", "a"]')

    assert (found.nodes.names, found.unknown) == (["a", "c"], [])


def test_names_of_no_node_are_told_apart() -> None:
    cache = make_cache(make_node("a"))

    found = NodeNames(cache.table).find(b'["a", "b"]')

    assert (found.nodes.names, found.unknown) == (["a"], ["b"])


def test_the_list_that_was_answered_is_known_again() -> None:
    cache = make_cache(*(make_node(name) for name in ("a", "b", "c")))
    names = NodeNames(cache.table)

    answer = names.list_of(Nodes(cache.table).only({"b", "c"}))

    assert json.loads(answer) == ["b", "c"]
    assert names.find(answer) is names.find(answer)
    assert names.find(answer).nodes.names == ["b", "c"]


def test_nothing_kept_outlives_a_node_that_goes() -> None:
    cache = make_cache(*(make_node(name) for name in ("a", "b", "c")))
    names = NodeNames(cache.table)
    asked = b'["b", "c"]'
    names.find(asked)

    cache.remove_node("a")

    found = names.find(asked)
    assert sorted(found.nodes.names) == ["b", "c"]
    assert sorted(names.quoted(found.nodes)) == [b'"b"', b'"c"']


def test_nothing_kept_outlives_a_node_that_comes() -> None:
    cache = make_cache(make_node("a"))
    names = NodeNames(cache.table)
    assert names.find(b'["a", "b"]').unknown == ["b"]

    cache.set_node(make_node("b"))

    assert names.find(b'["a", "b"]').unknown == []


def test_what_is_no_list_of_names_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        NodeNames(make_cache().table).find(b'[{"name": "a"}]')
