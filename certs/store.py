"""The CA's Secret: read, made once however many replicas start together, mended when it is broken.

What it holds under which key: certs/custody.py, and why: docs/notes/ca-secret.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from certs.authority import create_authority
from certs.clock import Clock, utc_now
from certs.custody import CERTIFICATES_KEY, KEY_KEY, NEXT_KEY_KEY, PHASE_KEY, Custody, parse_custody
from certs.errors import (
    CertificateError,
    Expired,
    InvalidPair,
    NoAuthority,
    RotationUnderWay,
    SecretConflict,
)
from certs.rotation import begin

__all__ = ["Secret", "SecretStore", "Step", "ensure_custody", "start_rotation"]

Step = Callable[[Custody], Custody | None]
"""Returns what is to take the place of what the Secret holds, or None if nothing is."""

# Whoever wins leaves a good Secret behind, so a loser seldom loses twice.
_ATTEMPTS = 5

_CONFLICT = (
    f"the CA's Secret was written by others {_ATTEMPTS} times in a row: "
    "find out who else writes it (kubectl get secret --show-managed-fields)"
)

_OURS = frozenset({CERTIFICATES_KEY, KEY_KEY, NEXT_KEY_KEY, PHASE_KEY})

log = logging.getLogger("certs")


class Secret(Protocol):
    """What was in the Secret at one moment."""

    @property
    def data(self) -> Mapping[str, bytes]:
        """The values, decoded from base64; empty when the Secret has none."""

    @property
    def resource_version(self) -> str:
        """Which write of the Secret this is."""


class SecretStore(Protocol):
    """One Secret, written only by those who have seen its newest state; raises if it can't be reached."""

    def read(self) -> Secret | None:
        """Return the Secret as it is now, or None if there is none."""

    def create(self, data: Mapping[str, bytes]) -> Secret | None:
        """Make the Secret and return it, or None if somebody else was first."""

    def replace(self, data: Mapping[str, bytes], *, resource_version: str) -> Secret | None:
        """Put `data` in place of all that the Secret held at `resource_version`.

        Returns the new state, or None if the Secret was written or deleted since.
        """


def ensure_custody(
    store: SecretStore,
    name: str,
    *,
    clock: Clock = utc_now,
    held: Custody | None = None,
    step: Step = lambda _: None,
    is_clock_sure: bool = True,
) -> Custody:
    """Return what the Secret holds, after `step`, and after putting a CA there if it holds none that can be used.

    The Secret decides: whoever loses a race takes what the winner wrote, and steps on from there. `held` is what
    the caller has worked with so far. While its CA is in date, it goes back into a Secret that was deleted, emptied
    or filled with garbage, so that nobody who trusts it is cut off. `name` is the product that a new CA signs for.

    Raises NotYetValid for a CA from the future: with a clock that is behind, replacing it would cut off
    everybody whose clock is right. Raises Expired for one whose time is over only where `is_clock_sure` is False,
    for the same reason. Raises SecretConflict if every write met a newer one.
    """
    for _ in range(_ATTEMPTS):
        secret = store.read()
        if secret is None:
            custody = _replacement(name, clock, held, step)
            if store.create(custody.data):
                log.info("CA put into a new Secret", extra=_fields(custody))
                return custody
            continue
        try:
            custody = parse_custody(secret.data, source="the CA's Secret")
            wanted = step(custody) or custody
            wanted.authority.check(clock())
        except (InvalidPair, Expired) as fault:
            if isinstance(fault, Expired) and not is_clock_sure:
                raise
            wanted = _replacement(name, clock, held, step)
            if _put(store, wanted, secret):
                log.warning("CA in the Secret replaced: %s", fault, extra=_fields(wanted))
                return wanted
            continue
        if wanted is custody:
            return custody
        if _put(store, wanted, secret):
            log.info("CA rotation: the Secret is now in the phase %s", wanted.phase, extra=_fields(wanted))
            return wanted
    raise SecretConflict(_CONFLICT)


def start_rotation(store: SecretStore, name: str, *, clock: Clock = utc_now) -> Custody:
    """Publish a successor of the CA in the Secret before its time, and return what the Secret holds then.

    Raises NoAuthority where no Secret is, RotationUnderWay where a rotation is, InvalidPair where the Secret holds no
    CA that can sign, and SecretConflict if every write met a newer one.
    """
    for _ in range(_ATTEMPTS):
        secret = store.read()
        if secret is None:
            raise NoAuthority("the CA's Secret is not there; start what makes it first")
        custody = parse_custody(secret.data, source="the CA's Secret")
        if custody.phase != "stable":
            raise RotationUnderWay(
                f"a rotation is under way, in the phase {custody.phase}: see custom-scheduler certs show"
            )
        published = begin(custody, name, clock())
        if _put(store, published, secret):
            return published
    raise SecretConflict(_CONFLICT)


def _replacement(name: str, clock: Clock, held: Custody | None, step: Step) -> Custody:
    now = clock()
    custody = held if held is not None and _counts(held, now) else None
    custody = custody or Custody(authority=create_authority(name, now))
    # Whoever held something else may have missed what the others did since.
    return step(custody) or custody


def _counts(custody: Custody, now: datetime) -> bool:
    try:
        custody.authority.check(now)
    except CertificateError:
        return False
    return True


def _put(store: SecretStore, custody: Custody, seen: Secret) -> bool:
    others = {key: value for key, value in seen.data.items() if key not in _OURS}
    return store.replace(others | custody.data, resource_version=seen.resource_version) is not None


def _fields(custody: Custody) -> dict[str, object]:
    return {
        "phase": custody.phase,
        "fingerprint": custody.authority.fingerprint,
        "trusted": len(custody.authority.trusted),
    }
