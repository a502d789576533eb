"""The CA's Secret: read, made once however many replicas start together, mended when it is broken.

What it holds under which key, now and while one CA follows another: docs/notes/ca-secret.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from certs.authority import Authority, create_authority, parse_authority
from certs.clock import Clock, utc_now
from certs.errors import CertificateError, Expired, InvalidPair, SecretConflict

__all__ = ["CERTIFICATES_KEY", "KEY_KEY", "Secret", "SecretStore", "ensure_authority"]

CERTIFICATES_KEY = "ca.crt"
"""Key of the trust bundle, PEM: the CA that signs first, then any other CA that has to be trusted."""

KEY_KEY = "ca.key"
"""Key of the private key that belongs to the first certificate of the bundle, PEM."""

# Whoever wins leaves a good Secret behind, so a loser seldom loses twice.
_ATTEMPTS = 5

_log = logging.getLogger("custom_scheduler.certs")


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


def ensure_authority(
    store: SecretStore, name: str, *, clock: Clock = utc_now, held: Authority | None = None
) -> Authority:
    """Return the CA that the Secret holds, after putting one there if it holds none that can be used.

    The Secret decides: whoever loses a race takes what the winner wrote. `held` is the CA that the caller has
    worked with so far. While it is in date, it goes back into a Secret that was deleted, emptied or filled
    with garbage, so that nobody who trusts it is cut off. `name` is the product that a new CA signs for.

    Raises NotYetValid for a CA from the future: with a clock that is behind, replacing it would cut off
    everybody whose clock is right. Raises SecretConflict if others kept winning and left nothing usable.
    """
    for _ in range(_ATTEMPTS):
        secret = store.read()
        if secret is None:
            authority = _replacement(name, clock, held)
            if store.create(_data(authority)):
                _log.info("CA put into a new Secret", extra={"fingerprint": authority.fingerprint})
                return authority
            continue
        try:
            return _usable(secret, clock)
        except (InvalidPair, Expired) as fault:
            authority = _replacement(name, clock, held)
            if store.replace(_data(authority), resource_version=secret.resource_version):
                _log.warning(
                    "CA in the Secret replaced: %s", fault, extra={"fingerprint": authority.fingerprint}
                )
                return authority
    raise SecretConflict(
        f"the CA's Secret was written by others {_ATTEMPTS} times in a row and holds no usable CA: "
        "find out who else writes it (kubectl get secret --show-managed-fields)"
    )


def _usable(secret: Secret, clock: Clock) -> Authority:
    authority = parse_authority(
        secret.data.get(CERTIFICATES_KEY, b""), secret.data.get(KEY_KEY, b""), source="the CA's Secret"
    )
    authority.check(clock())
    return authority


def _replacement(name: str, clock: Clock, held: Authority | None) -> Authority:
    now = clock()
    if held is not None:
        try:
            held.check(now)
            return held
        except CertificateError:
            pass
    return create_authority(name, now)


def _data(authority: Authority) -> dict[str, bytes]:
    return {CERTIFICATES_KEY: authority.bundle, KEY_KEY: authority.key_pem}
