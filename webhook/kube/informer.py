"""A local copy of one kind of object, kept true by list and watch, that tells each change to one handler."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from webhook.errors import ApiError, ClusterError, Unreachable
from webhook.kube.backoff import Backoff
from webhook.kube.decoder import Decoder, Event, metadata_of
from webhook.kube.meta import HasMetadata, Status
from webhook.kube.transport import KubeClient, Query, ThrottledError

__all__ = ["Change", "Informer"]

T = TypeVar("T", bound=HasMetadata)

log = logging.getLogger("custom_scheduler.kube")

# A watch ends by the server's clock after a random time between these. Short, because a dead connection behind
# a load balancer that answers for it shows only as silence, and a watch that resumes costs next to nothing.
WATCH_SECONDS = (60, 120)
SLACK_SECONDS = 10
_EXPIRED = 410


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object as it was and as it is: `old` None means added, `new` None deleted."""

    old: T | None
    new: T | None


class Informer(Generic[T]):
    """Lists and watches `path` until stopped, and calls `handler` with each change, from the thread of `run`.

    `kind` is a msgspec Struct of the fields worth keeping. Lists are read from the API server's newest state.
    After an interruption the watch goes on where it was; where that is too long ago, a new list shows what
    changed meanwhile, deletions too. An object that was replaced under its name is deleted, then added.

    The handler must not raise: a fault in it is logged and costs that one change. `synced` is set, and then
    `on_synced` called, when a list has been handed over; `fault` is the present trouble in one line, None while
    the watch runs.
    """

    def __init__(
        self,
        client: KubeClient,
        path: str,
        kind: type[T],
        handler: Callable[[Change[T]], None],
        *,
        query: Query = (),
        on_synced: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        rng: Callable[[], float] = random.random,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.synced = threading.Event()
        self.fault: str | None = None
        self._fault_status = 0
        self._base = client
        self._client = client.apart()
        self._path = path
        self._handler = handler
        self._query = list(query)
        self._on_synced = on_synced
        self._backoff = Backoff(rng=rng)
        self._expiries = Backoff(rng=rng)
        self._clock = clock
        self._rng = rng
        self._stop = threading.Event()
        self._again = threading.Event()
        self._woken = threading.Event()
        self._wait = wait or self._woken.wait
        self._lock = threading.Lock()
        self._items: dict[str, T] = {}
        self._version = ""  # where to watch from; empty: list first
        self._paged = True
        self._decoder = Decoder(kind, path)

    def run(self) -> None:
        """List and watch until `stop`; returns soon after it, also out of a blocked read."""
        while not self._stop.is_set():
            self._woken.clear()
            try:
                if not self._version or self._again.is_set():
                    self._list()
                self._watch()
            except ClusterError as error:
                if not self._interrupted():
                    self._wait(self._lost(error))
            except Exception:
                # A fault of ours, but a copy that silently stops being true is worse than one more list.
                log.exception("the watch of %s failed unexpectedly; listing again", self._path)
                self._version = ""
                self._wait(self._backoff.after())

    def stop(self) -> None:
        """Make `run` return; from any thread."""
        self._stop.set()
        self._interrupt().close()

    def relist(self) -> None:
        """Read everything anew: `synced` is cleared now, and set when all that has changed was handed over."""
        self._again.set()
        self.synced.clear()
        self._interrupt()

    def _interrupted(self) -> bool:
        return self._stop.is_set() or self._again.is_set()

    def _interrupt(self) -> KubeClient:
        """End whatever `run` waits for, and return the client that it will use from now on."""
        with self._lock:
            interrupted, self._client = self._client, self._base.apart()
        interrupted.close()
        self._woken.set()
        return self._client

    def _list(self) -> None:
        self._again.clear()
        self._version = ""
        version, seen = "", dict[str, T]()
        try:
            for raw in self._client.pages(self._path, query=self._query, limit=500 if self._paged else 0):
                page = self._decoder.page(raw)
                version = page.metadata.resource_version
                seen.update((item.metadata.key, item) for item in page.items or ())
        except ApiError as error:
            # The snapshot went while we paged through it; a list in one piece can't lose it.
            self._paged = error.status != _EXPIRED
            raise
        if not version:
            raise Unreachable(
                f"API server {self._client.host} answered GET {self._path} with a list that has no version; "
                "check that this address is an API server's"
            )
        for key in [key for key in self._items if key not in seen]:
            self._remove(key)
        for key, item in seen.items():
            self._put(key, item)
        self._paged = True
        self._version = version
        if not self._again.is_set():
            self.synced.set()
            self._on_synced()

    def _watch(self) -> None:
        # In this order: whoever asks for a new list from here on ends the requests of this client.
        client = self._client
        if self._again.is_set():
            return
        seconds = int(WATCH_SECONDS[0] + self._rng() * (WATCH_SECONDS[1] - WATCH_SECONDS[0]))
        query = [
            *self._query,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self._version),
            ("timeoutSeconds", str(seconds)),
        ]
        opened = self._clock()
        heard = False
        with client.stream(self._path, query=query, read_timeout=seconds + SLACK_SECONDS) as lines:
            self._regained()
            for line in lines:
                self._event(line)
                self._backoff.reset()
                self._expiries.reset()
                heard = True
        if not heard and self._clock() - opened < 1:
            raise Unreachable(
                f"API server {self._client.host} ends each watch of {self._path} at once; "
                "check what stands between it and us"
            )

    def _event(self, line: bytes) -> None:
        try:
            self._version = self._take(self._decoder.event(line))
        except msgspec.DecodeError as error:
            raise Unreachable(
                f"API server {self._client.host} sent what is no event in the watch of {self._path} ({error}); "
                "check what stands between it and us"
            ) from error

    def _take(self, event: Event) -> str:
        """Take over an event, and return the version that the watch has come to."""
        match event.type:
            case "ADDED" | "MODIFIED":
                item = self._decoder.item(event.object)
                if item is None:
                    return metadata_of(event.object).resource_version
                self._put(item.metadata.key, item)
                return item.metadata.resource_version
            case "DELETED":
                meta = metadata_of(event.object)
                self._remove(meta.key)
                return meta.resource_version
            case "BOOKMARK":
                return metadata_of(event.object).resource_version
            case "ERROR":
                raise self._error(event.object)
            case _:
                log.warning("unknown event type %r in the watch of %s, ignored", event.type, self._path)
                return self._version

    def _error(self, raw: msgspec.Raw) -> ApiError:
        """Return an in-stream error as what it would have been as an answer."""
        status = msgspec.json.decode(raw, type=Status)
        text = f"API server {self._client.host} ended the watch of {self._path}: {status.message}"
        if status.code == 429:
            return ThrottledError(text, status=status.code, reason=status.reason, retry_after=None)
        return ApiError(text, status=status.code, reason=status.reason)

    def _put(self, key: str, item: T) -> None:
        old = self._items.get(key)
        if old is not None and old.metadata.uid != item.metadata.uid:
            self._remove(key)
            old = None
        elif old is not None and old.metadata.resource_version == item.metadata.resource_version:
            return
        self._items[key] = item
        self._tell(Change(old=old, new=item), key)

    def _remove(self, key: str) -> None:
        old = self._items.pop(key, None)
        if old is not None:
            self._tell(Change(old=old, new=None), key)

    def _tell(self, change: Change[T], key: str) -> None:
        try:
            self._handler(change)
        except Exception:
            log.exception("the handler of %s failed on %s; this change is lost", self._path, key)

    def _lost(self, error: ClusterError) -> float:
        """Return the seconds to wait before the next try."""
        if isinstance(error, ApiError) and error.status == _EXPIRED:
            log.info("%s is too far behind; listing again", self._path)
            self._version = ""
            # Often follows on an outage, which must not go on making us wait.
            return self._expiries.after(error)
        if isinstance(error, ApiError) and not isinstance(error, ThrottledError):
            # For instance 504 "too large resource version", after etcd was restored: only a list ends that.
            self._version = ""
        # The same trouble in other words is no news: a connection refused follows on one that broke.
        status = error.status if isinstance(error, ApiError) else 0
        if self.fault is None or status != self._fault_status:
            log.warning("no watch of %s, trying again until it works: %s", self._path, error)
        self.fault, self._fault_status = str(error), status
        return self._backoff.after(error)

    def _regained(self) -> None:
        if self.fault is not None:
            log.info("watching %s again", self._path)
        self.fault = None
