"""Since when each CA has been in caBundle, as one replica saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cryptography import x509

from certs.bundle import certificates_in
from certs.leaf import LEAF_LIFETIME
from certs.pair import fingerprint_of

__all__ = ["SETTLE_SECONDS", "Trust"]

SETTLE_SECONDS = 60.0
"""How long a CA is in caBundle before a leaf of it is served: each API server has a watch of its own, and may be
behind."""


class Trust:
    """Which CAs the API servers trust by now, and which others there are.

    Kept in memory and told by what is read from the webhook configurations, never by what was written. `clock`
    gives seconds that also pass while the machine is suspended.
    """

    def __init__(self, *, settle_seconds: float, clock: Callable[[], float]) -> None:
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._since: dict[str, float] = {}
        self._named_since: dict[str, float] = {}
        self._successor: str | None = None
        self._uncalled_since: float | None = None
        self._read_at: float | None = None
        self._established: set[str] = set()
        # Each CA that was carried, and when it was found missing.
        self._carried: dict[str, tuple[x509.Certificate, float | None]] = {}
        # Each CA that was met anywhere, and when that was last.
        self._met: dict[str, tuple[x509.Certificate, float]] = {}

    @property
    def carried(self) -> tuple[x509.Certificate, ...]:
        """The CAs that each entry carries, or did until not long ago: some API server may go by them yet."""
        oldest = self._clock() - self._settle_seconds
        return tuple(each for each, gone_at in self._carried.values() if gone_at is None or gone_at > oldest)

    def may_be_trusted(self, certificate: x509.Certificate) -> bool:
        """Tell whether some API server may go by this CA, as one that has ours has to.

        Each may, as long as nothing has been registered for less than that time: what was there before isn't known.
        """
        just_uncalled = self.is_uncalled and not self._has_lasted(self._uncalled_since, self._read_at)
        return just_uncalled or certificate in self.carried

    @property
    def is_uncalled(self) -> bool:
        """Whether nothing was registered when that was last read."""
        return self._uncalled_since is not None

    @property
    def known(self) -> tuple[x509.Certificate, ...]:
        """The CAs that were met for as long back as a leaf of theirs may be served."""
        oldest = self._clock() - LEAF_LIFETIME.total_seconds()
        return tuple(each for each, met_at in self._met.values() if met_at > oldest)

    @property
    def is_outdated(self) -> bool:
        """Whether nothing was read for so long that the others no longer count on what this replica serves."""
        return self._read_at is None or self._clock() - self._read_at > LEAF_LIFETIME.total_seconds()

    def met(self, certificates: Iterable[x509.Certificate]) -> None:
        """Take note of CAs, wherever they were read just now."""
        now = self._clock()
        self._met |= {fingerprint_of(each): (each, now) for each in certificates}

    def saw(self, bundles: Iterable[bytes]) -> None:
        """Take note of the caBundles of all entries as they were read just now; without any, nobody calls."""
        now = self._clock()
        if self.is_outdated:
            # Whatever is missing now may have been so for long.
            self._carried, self._established = {}, set()
        self._read_at = now
        found = [_by_fingerprint(bundle) for bundle in bundles]
        first, *others = found or [{}]
        everywhere = {name: each for name, each in first.items() if all(name in other for other in others)}
        gone = {name: (each, gone_at or now) for name, (each, gone_at) in self._carried.items()}
        self._carried = gone | {name: (each, None) for name, each in everywhere.items()}
        self._since = {name: self._since.get(name, now) for name in everywhere}
        self._established |= {name for name in everywhere if self._has_lasted(self._since[name], now)}
        self.met(each for carried in found for each in carried.values())
        if found:
            self._uncalled_since = None
        elif self._uncalled_since is None:
            self._uncalled_since = now

    def is_carried(self, fingerprint: str) -> bool:
        """Tell whether each entry carried this CA when they were last read."""
        return fingerprint in self._since

    def is_established(self, fingerprint: str) -> bool:
        """Tell whether every entry has had this CA for long enough once, as this replica saw itself."""
        since = self._since.get(fingerprint, self._uncalled_since)
        return fingerprint in self._established or self._has_lasted(since, self._clock())

    def named(self, signer: str, successor: str | None = None) -> None:
        """Take note of the CAs that the Secret has sign, now and next, as it was read just now."""
        now = self._clock()
        since = {signer: self._named_since.get(signer, now)}
        if successor is not None:
            stays = successor == self._successor
            since[successor] = self._named_since.get(successor, now) if stays else now
        self._named_since, self._successor = since, successor

    def is_settled(self, fingerprint: str) -> bool:
        """Tell whether every API server has had the time to learn of this CA, or that there is nothing to call.

        Time counts only while the Secret names it, and from when it became the one that follows: a CA that was dropped
        and has come back between two looks may be new to some API server, and comes back under that role. Nor does the
        time count that has passed since the last reading: a call may have hung, and nobody knows what was registered
        meanwhile.
        """
        since = self._since.get(fingerprint)
        if since is None:
            return self._has_lasted(self._uncalled_since, self._read_at)
        named_since = self._named_since.get(fingerprint, self._clock())
        return self._has_lasted(max(since, named_since), self._read_at)

    def _has_lasted(self, since: float | None, until: float | None) -> bool:
        return since is not None and until is not None and until - since >= self._settle_seconds


def _by_fingerprint(bundle: bytes) -> dict[str, x509.Certificate]:
    return {fingerprint_of(each): each for each in certificates_in(bundle)}
