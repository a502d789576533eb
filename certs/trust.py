"""Since when each CA has been in caBundle, as one replica saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from cryptography import x509

from certs.pair import fingerprint_of

__all__ = ["SETTLE_SECONDS", "Trust"]

SETTLE_SECONDS = 60.0
"""How long a CA is in caBundle before a leaf of it is served: each API server has a watch of its own, and may be
behind."""


class Trust:
    """Which CAs the API servers trust by now.

    Kept in memory and told by what is read from the webhook configurations, never by what was written. `clock`
    gives seconds that also pass while the machine is suspended.
    """

    def __init__(self, *, settle_seconds: float, clock: Callable[[], float]) -> None:
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._since: dict[str, float] | None = {}

    def saw(self, bundles: Iterable[bytes]) -> None:
        """Take note of the caBundles of all entries as they were read just now; without any, nobody calls."""
        carried = [_fingerprints(bundle) for bundle in bundles]
        if not carried:
            self._since = None
            return
        now, before = self._clock(), self._since or {}
        self._since = {each: before.get(each, now) for each in frozenset.intersection(*carried)}

    def is_carried(self, fingerprint: str) -> bool:
        """Tell whether each entry carried this CA when they were last read."""
        return self._since is None or fingerprint in self._since

    def is_settled(self, fingerprint: str) -> bool:
        """Tell whether each entry has carried this CA for so long that every API server knows it."""
        if self._since is None:
            return True
        since = self._since.get(fingerprint)
        return since is not None and self._clock() - since >= self._settle_seconds


@lru_cache(maxsize=16)
def _fingerprints(bundle: bytes) -> frozenset[str]:
    try:
        return frozenset(fingerprint_of(each) for each in x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return frozenset()
