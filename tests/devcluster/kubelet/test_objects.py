from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from devcluster.kubelet.objects import ObjectCache


def named(name: str, **others: object) -> dict[str, Any]:
    return {"metadata": {"namespace": "team", "name": name}, **others}


class Scripted:
    """An API server whose list and watch are given."""

    def __init__(self, items: Sequence[dict[str, Any]], *events: tuple[str, dict[str, Any]]) -> None:
        self.items = items
        self.events = events
        self.watched = ""

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        return {"metadata": {"resourceVersion": "7"}, "items": list(self.items)}

    def lines(self, path: str, *, silence: float) -> Iterator[bytes]:
        self.watched = path
        for kind, seen in self.events:
            yield json.dumps({"type": kind, "object": seen}).encode()


def followed(source: Scripted) -> tuple[ObjectCache, list[int]]:
    sizes: list[int] = []
    cache = ObjectCache(source, "/api/v1/pods", lambda: sizes.append(len(cache.all())))
    cache.follow_once()
    return cache, sizes


def test_what_was_listed_is_added_to_changed_and_taken_from_by_the_watch() -> None:
    source = Scripted(
        [named("a"), named("b")],
        ("ADDED", named("c")),
        ("MODIFIED", named("a", new=1)),
        ("DELETED", named("b")),
    )

    cache, sizes = followed(source)

    assert sizes == [2, 3, 3, 2]
    assert cache.get("team", "a") == named("a", new=1)
    assert cache.get("team", "b") is None


def test_the_watch_goes_on_where_the_list_ended() -> None:
    source = Scripted([])

    followed(source)

    assert "watch=1&resourceVersion=7" in source.watched


def test_a_watch_that_is_too_old_ends_the_round() -> None:
    cache, sizes = followed(Scripted([named("a")], ("ERROR", {"code": 410}), ("ADDED", named("b"))))

    assert sizes == [1]
    assert cache.get("team", "b") is None
