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
    """Counts the writes of those who use it.

    `meet`, if given, makes the first reads of all threads end together, to force a race. `refusal`, if set, is
    what each call meets.
    """

    def __init__(
        self, data: Mapping[str, bytes] | None = None, *, meet: threading.Barrier | None = None
    ) -> None:
        self.writes = 0
        self.refusal: Exception | None = None
        self.secret: MemorySecret | None = None
        self._version = 0
        self._lock = threading.RLock()
        self._meet = meet
        self._met = threading.local()
        self.put(data)

    def put(self, data: Mapping[str, bytes] | None) -> None:
        """Write as somebody else; None deletes."""
        with self._lock:
            self._version += 1
            self.secret = (
                None if data is None else MemorySecret(data=dict(data), resource_version=str(self._version))
            )

    def read(self) -> MemorySecret | None:
        self._refuse()
        with self._lock:
            secret = self.secret
        if self._meet is not None and not hasattr(self._met, "once"):
            self._met.once = True
            self._meet.wait(timeout=10)
        return secret

    def create(self, data: Mapping[str, bytes]) -> MemorySecret | None:
        self._refuse()
        with self._lock:
            return None if self.secret is not None else self._write(data)

    def replace(self, data: Mapping[str, bytes], *, resource_version: str) -> MemorySecret | None:
        self._refuse()
        with self._lock:
            if self.secret is None or self.secret.resource_version != resource_version:
                return None
            return self._write(data)

    def _write(self, data: Mapping[str, bytes]) -> MemorySecret | None:
        self.writes += 1
        self.put(data)
        return self.secret

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal
