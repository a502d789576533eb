"""What a process found good, for those that are forked to take its place."""

from __future__ import annotations

import hashlib
import mmap
import struct

from webhook.documents import MAX_BYTES

__all__ = ["Handover"]

# The digest of what follows, a running number, the length of the content.
_HEAD = struct.Struct("!32sQI")
_DIGEST_BYTES = 32


class Handover:
    """The content that was put last, in memory of all processes forked from the one that made this.

    There are two slots, of which the older one is overwritten. A process may be killed at it, or two be at it at
    once: a slot whose digest is wrong counts for nothing, and the other one holds what was put before.
    """

    def __init__(self) -> None:
        # Pages that were never written take no memory.
        self._slots = [mmap.mmap(-1, _HEAD.size + MAX_BYTES) for _ in range(2)]

    def put(self, content: bytes) -> None:
        """Keep this, of at most `MAX_BYTES`, for those to come."""
        contents = [self._read(slot) for slot in self._slots]
        numbers = [number for number, _ in contents]
        older = self._slots[numbers.index(min(numbers))]
        head = _HEAD.pack(bytes(_DIGEST_BYTES), max(numbers) + 1, len(content))[_DIGEST_BYTES:]
        older[: _HEAD.size + len(content)] = hashlib.sha256(head + content).digest() + head + content

    def get(self) -> bytes | None:
        """Return what was put last, if anything was."""
        number, content = max(map(self._read, self._slots))
        return content if number else None

    def _read(self, slot: mmap.mmap) -> tuple[int, bytes]:
        digest, number, length = _HEAD.unpack(slot[: _HEAD.size])
        end = min(_HEAD.size + length, len(slot))
        if hashlib.sha256(slot[_DIGEST_BYTES:end]).digest() != digest:
            return 0, b""
        return number, slot[_HEAD.size : end]
