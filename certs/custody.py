"""What the CA's Secret holds: the CA that signs, all that are trusted, and how far a rotation is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from certs.authority import Authority, parse_authority
from certs.errors import CertificateError, InvalidPair
from certs.pair import pem_of

__all__ = ["CERTIFICATES_KEY", "KEY_KEY", "NEXT_KEY_KEY", "PHASE_KEY", "Custody", "Phase", "parse_custody"]

CERTIFICATES_KEY = "ca.crt"
"""Key of the trust bundle, PEM: the CA that signs first, then any other CA that has to be trusted."""

KEY_KEY = "ca.key"
"""Key of the private key that belongs to the first certificate of the bundle, PEM."""

NEXT_KEY_KEY = "next.key"
"""Key of the private key of the CA that takes over, PEM; only in the phase `published`."""

PHASE_KEY = "phase"
"""Key of the phase; absent in the phase `stable`."""

Phase = Literal["stable", "published", "switched"]
"""`stable`: one CA signs. `published`: its successor is trusted too, and signs nothing yet. `switched`: the
successor signs, and the one before is trusted until nobody serves it any more."""


@dataclass(frozen=True, kw_only=True)
class Custody:
    """The CA that signs, and the one that follows it."""

    authority: Authority
    phase: Phase = "stable"
    successor: Authority | None = None
    """In the phase `published`: the CA that takes over; None where the Secret lost its key."""

    def usable_successor(self, now: datetime) -> Authority | None:
        """Return the successor if its signatures count at `now`."""
        try:
            if self.successor is not None:
                self.successor.check(now)
        except CertificateError:
            return None
        return self.successor

    @property
    def data(self) -> dict[str, bytes]:
        """The content of a Secret that holds this, keys included."""
        data = {CERTIFICATES_KEY: self.authority.bundle, KEY_KEY: self.authority.key_pem}
        if self.phase != "stable":
            data[PHASE_KEY] = self.phase.encode()
        if self.successor is not None:
            data[NEXT_KEY_KEY] = self.successor.key_pem
        return data


def parse_custody(data: Mapping[str, bytes], *, source: str) -> Custody:
    """Return what a Secret's `data` holds; `source` names the Secret in errors.

    Raises InvalidPair where there is no CA that can sign. What is wrong with a rotation under way raises nothing:
    the CA that signs is good, and the rotation can begin again.
    """
    authority = parse_authority(data.get(CERTIFICATES_KEY, b""), data.get(KEY_KEY, b""), source=source)
    match data.get(PHASE_KEY, b"").strip():
        case b"published":
            successor = _successor(authority, data.get(NEXT_KEY_KEY, b""), source)
            return Custody(authority=authority, phase="published", successor=successor)
        case b"switched":
            return Custody(authority=authority, phase="switched")
        case _:
            return Custody(authority=authority)


def _successor(authority: Authority, key_pem: bytes, source: str) -> Authority | None:
    for certificate in authority.trusted[1:]:
        try:
            return parse_authority(pem_of([certificate]), key_pem, source=source)
        except InvalidPair:
            continue
    return None
