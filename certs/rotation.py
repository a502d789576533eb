"""How one CA follows another without a refused call: phases that any replica can take further. Pure.

stable     The CA's certificate is in caBundle, and every leaf is signed by it.
published  Its successor is in caBundle too. Nothing is signed by it until every API server has had the time to
           learn of it.
switched   The successor signs. The CA before stays in caBundle until no leaf of it is served.

What keeps every call accepted at every moment is tested in tests/certs/test_rotation.py, and told in
docs/notes/ca-rotation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509

from certs.authority import Authority, create_authority
from certs.custody import Custody
from certs.pair import fingerprint_of

__all__ = ["RENEWAL", "adopt", "begin", "is_due", "next_step", "reinstate"]

RENEWAL = timedelta(days=60)
"""How long before its end a CA gets a successor."""


def is_due(authority: Authority, now: datetime) -> bool:
    """Tell whether the CA is to be followed by another."""
    return now >= authority.certificate.not_valid_after_utc - RENEWAL


def begin(custody: Custody, name: str, now: datetime) -> Custody:
    """Return the phase `published`: a new CA beside the one that signs; `name` is the product it signs for."""
    successor = create_authority(name, now)
    trusted = (*_in_date(custody.authority, now), successor.certificate)
    return Custody(
        authority=replace(custody.authority, trusted=trusted), phase="published", successor=successor
    )


def reinstate(custody: Custody, serving: Authority, now: datetime) -> Custody | None:
    """Return the phase `published` with `serving` as the CA that signs, or None where one of the two has expired.

    For a CA that somebody put into the Secret, or that came back with an older state of it: no API server knows it,
    and whatever starts would sign with it at once. So it becomes the successor of the CA that is served.
    """
    found = custody.authority
    if _unexpired((found.certificate, serving.certificate), now) != [found.certificate, serving.certificate]:
        return None
    others = _unexpired((each for each in found.trusted if each != serving.certificate), now)
    return Custody(
        authority=replace(serving, trusted=(serving.certificate, *others)), phase="published", successor=found
    )


def adopt(
    custody: Custody,
    *,
    now: datetime,
    known: Iterable[x509.Certificate],
    served: Callable[[], Collection[str]],
) -> Custody | None:
    """Return `custody` with those of the CAs `known` that replicas serve, or None where it has them all.

    Somebody put another CA into the Secret, or an older state of it: those who serve the one before must not be cut
    off. `served` is as in `next_step`.
    """
    strays = _unexpired((each for each in known if each not in custody.authority.trusted), now)
    adopted = _named(strays, served()) if strays else []
    if not adopted:
        return None
    return replace(
        custody,
        authority=replace(custody.authority, trusted=(*custody.authority.trusted, *adopted)),
        phase="switched" if custody.phase == "stable" else custody.phase,
    )


def next_step(
    custody: Custody,
    *,
    name: str,
    now: datetime,
    is_settled: Callable[[str], bool],
    served: Callable[[], Collection[str]] | None,
) -> Custody | None:
    """Return what is to come after `custody`, or None while it is to stay.

    `is_settled` tells whether every API server has had the time to learn of the CA with this fingerprint.
    `served` gives the fingerprints of the CAs that replicas serve leaves of; it is asked only where the answer
    counts, so always after the Secret was read. None: nobody can say, so each may be served.
    """
    if custody.phase == "published":
        return _after_published(custody, name, now, is_settled)
    kept = _in_date(custody.authority, now)
    if custody.phase == "switched" and served is not None and len(kept) > 1:
        kept = (kept[0], *_named(kept[1:], served()))
    if kept != custody.authority.trusted or (custody.phase == "switched" and len(kept) == 1):
        return Custody(
            authority=replace(custody.authority, trusted=kept),
            phase="stable" if len(kept) == 1 else custody.phase,
        )
    # Also while an older CA is on its way out: a lost replica may hold it for longer than this one has left.
    return begin(custody, name, now) if is_due(custody.authority, now) else None


def _after_published(
    custody: Custody, name: str, now: datetime, is_settled: Callable[[str], bool]
) -> Custody | None:
    signer, successor = custody.authority, custody.successor
    if successor is None or successor.certificate.not_valid_after_utc <= now:
        return begin(custody, name, now)
    if custody.usable_successor(now) is None:  # not yet valid: a clock is wrong, and time will tell
        return None
    # Once the signer's time is over, no leaf of it is accepted: there is nothing left to wait for.
    if not is_settled(successor.fingerprint) and signer.certificate.not_valid_after_utc > now:
        return None
    before = _unexpired((each for each in signer.trusted if each != successor.certificate), now)
    return Custody(authority=replace(successor, trusted=(successor.certificate, *before)), phase="switched")


def _in_date(authority: Authority, now: datetime) -> tuple[x509.Certificate, ...]:
    """Return what has to be trusted: the signer, and of the others those that have not expired."""
    return (authority.certificate, *_unexpired(authority.trusted[1:], now))


def _unexpired(certificates: Iterable[x509.Certificate], now: datetime) -> list[x509.Certificate]:
    return [each for each in certificates if each.not_valid_after_utc > now]


def _named(certificates: Iterable[x509.Certificate], fingerprints: Collection[str]) -> list[x509.Certificate]:
    return [each for each in certificates if fingerprint_of(each) in fingerprints]
