"""A Secret in memory that keeps the API server's promise: only who saw the newest state may write."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MemorySecret:
    data: Mapping[str, bytes]
    resource_version: str


class MemoryStore:
    """Counts its writes; `meet`, if given, is waited for by each of the first readers to force a race."""

    def __init__(
        self, data: Mapping[str, bytes] | None = None, *, meet: threading.Barrier | None = None
    ) -> None:
        self.writes = 0
        self.secret = None if data is None else MemorySecret(data=data, resource_version="0")
        self._lock = threading.Lock()
        self._meet = meet
        self._met = threading.local()

    def read(self) -> MemorySecret | None:
        with self._lock:
            secret = self.secret
        if self._meet is not None and not hasattr(self._met, "once"):
            self._met.once = True
            self._meet.wait(timeout=10)
        return secret

    def create(self, data: Mapping[str, bytes]) -> MemorySecret | None:
        with self._lock:
            return None if self.secret is not None else self._write(data)

    def replace(self, data: Mapping[str, bytes], *, resource_version: str) -> MemorySecret | None:
        with self._lock:
            if self.secret is None or self.secret.resource_version != resource_version:
                return None
            return self._write(data)

    def _write(self, data: Mapping[str, bytes]) -> MemorySecret:
        self.writes += 1
        self.secret = MemorySecret(data=dict(data), resource_version=str(self.writes))
        return self.secret
