"""A list that can't be watched, read now and then."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from webhook.errors import ClusterError
from webhook.kube.decoder import Decoder
from webhook.kube.meta import HasMetadata
from webhook.kube.transport import KubeClient

__all__ = ["ListPoller"]

T = TypeVar("T", bound=HasMetadata)

log = logging.getLogger("custom_scheduler.kube")


class ListPoller(Generic[T]):
    """While `wanted`, reads all objects of `path` each `interval` seconds and hands them to `tell`.

    Where they can't be read, `trouble` is logged once with the reason, and `tell` hears of no object.
    """

    def __init__(
        self,
        client: KubeClient,
        path: str,
        kind: type[T],
        tell: Callable[[Sequence[T]], None],
        *,
        wanted: Callable[[], bool],
        interval: float,
        trouble: str,
    ) -> None:
        self._client = client.apart()
        self._path = path
        self._tell = tell
        self._wanted = wanted
        self._interval = interval
        self._trouble = trouble
        self._decoder = Decoder(kind, path)
        self._stop = threading.Event()
        self._in_trouble = False

    def run(self) -> None:
        """Read until `stop`; returns soon after it, also out of a blocked read."""
        while True:
            if self._wanted():
                self._tell(self._read())
            if self._stop.wait(self._interval):
                return

    def stop(self) -> None:
        """Make `run` return; from any thread."""
        self._stop.set()
        self._client.close()

    def _read(self) -> Sequence[T]:
        try:
            # All at once: what can't be watched seldom knows pages.
            answer = self._client.request("GET", self._path)
            items = self._decoder.page(answer).items or []
        except (ClusterError, msgspec.DecodeError) as error:
            if not self._in_trouble and not self._stop.is_set():
                log.warning("%s: %s", self._trouble, error)
            self._in_trouble = True
            return ()
        if self._in_trouble:
            log.info("%s can be read again", self._path)
        self._in_trouble = False
        return items
