"""The CAs of others in caBundle, beside ours: which of them stay there, and for how long.

While a webhook changes from one way of having a certificate to the other, replicas of both kinds are called, and the
CAs of both have to be trusted. docs/notes/changing-modes.md says how that is brought about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cryptography import x509

from certs.authority import is_authority_of
from certs.bundle import certificates_in
from certs.clock import Clock, utc_now
from certs.pair import fingerprint_of

__all__ = ["KEEP_SECONDS", "Neighbours"]

KEEP_SECONDS = 3600.0
"""How long the CA of others stays where nobody says that it is to: a rollout is over by then."""


class Neighbours:
    """What one replica knows of the CAs of others in one webhook configuration.

    `product` is the name that our own CAs carry: one of these that the Secret no longer holds is not of others.
    `boot_clock` gives seconds that also pass while the machine is suspended.
    """

    def __init__(self, *, product: str, boot_clock: Callable[[], float], clock: Clock = utc_now) -> None:
        self._product = product
        self._boot_clock = boot_clock
        self._clock = clock
        self._published: set[str] = set()
        self._since: dict[str, float] = {}
        self._is_injected = False

    def saw(self, bundles: Iterable[bytes], *, is_injected: bool) -> None:
        """Take note of what the entries carry just now.

        `is_injected` tells whether somebody else is asked to put a CA there, by an annotation of the configuration.
        """
        now = self._boot_clock()
        present = {fingerprint_of(each) for bundle in bundles for each in certificates_in(bundle)}
        # What stays because an injector wants it there is not to go in the moment in which that ends.
        begun = {} if self._is_injected or is_injected else self._since
        self._since = {fingerprint: begun.get(fingerprint, now) for fingerprint in present}
        self._is_injected = is_injected

    def published(self, bundle: bytes) -> None:
        """Take note of what goes into caBundle as ours: when it is gone from there, it is to go from caBundle."""
        self._published |= {fingerprint_of(each) for each in certificates_in(bundle)}

    def stays(self, certificate: x509.Certificate) -> bool:
        """Tell whether this certificate stays in caBundle, though it is none of those that we publish now."""
        if is_authority_of(self._product, certificate) or certificate.not_valid_after_utc <= self._clock():
            return False
        if self._is_injected:
            return True
        fingerprint, now = fingerprint_of(certificate), self._boot_clock()
        return fingerprint not in self._published and now - self._since.get(fingerprint, now) < KEEP_SECONDS
