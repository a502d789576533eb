"""The objects of one collection, as a list and then a watch tell of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from devcluster.errors import DevClusterError

__all__ = ["Key", "Object", "ObjectCache", "Source"]

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""

_WATCH_SECONDS = 240
_PAUSE_SECONDS = 0.5


class Source(Protocol):
    """The part of an API client that a cache needs."""

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        """Return the decoded answer; raises DevClusterError."""

    def lines(self, path: str, *, silence: float) -> Iterable[bytes]:
        """Yield the lines of an answer that goes on; raises DevClusterError."""


class ObjectCache:
    """All objects at `path`, kept up to date on a thread of its own; `on_change` is called there after each change.

    The thread is a daemon: it may wait for the API server when the program ends.
    """

    def __init__(self, source: Source, path: str, on_change: Callable[[], None]) -> None:
        self._source = source
        self._path = path
        self._on_change = on_change
        self._objects: dict[Key, Object] = {}
        self._thread = threading.Thread(target=self._follow, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def get(self, namespace: str, name: str) -> Object | None:
        """Return one object as it was last told of, or None."""
        return self._objects.get((namespace, name))

    def all(self) -> list[Object]:
        """Return all objects as they were last told of."""
        return list(self._objects.values())

    def _follow(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.follow_once()
            except DevClusterError:
                pause.wait(_PAUSE_SECONDS)

    def follow_once(self) -> None:
        """List, then take in what a watch tells until it ends; raises DevClusterError."""
        listed = self._source.request("GET", self._path)
        self._set({_key(each): each for each in listed["items"]})
        version = listed["metadata"]["resourceVersion"]
        watch = f"{self._path}?watch=1&resourceVersion={version}&timeoutSeconds={_WATCH_SECONDS}"
        for line in self._source.lines(watch, silence=_WATCH_SECONDS + 30):
            event = json.loads(line)
            if event["type"] == "ERROR":  # such as 410: what was listed is too old to go on from
                return
            self._take(event["type"], event["object"])

    def _take(self, kind: str, seen: Object) -> None:
        others = {key: each for key, each in self._objects.items() if key != _key(seen)}
        self._set(others if kind == "DELETED" else {**others, _key(seen): seen})

    def _set(self, objects: dict[Key, Object]) -> None:
        self._objects = objects  # replaced, not changed: others read it meanwhile
        self._on_change()


def _key(seen: Object) -> Key:
    return seen["metadata"].get("namespace", ""), seen["metadata"]["name"]
