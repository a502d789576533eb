"""A pair that somebody else keeps in files (cert-manager, an admin): checked, and reloaded on change."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from certs.client_ca import ClientAuthorityFile
from certs.clock import Clock, utc_now
from certs.context import TLS_FLOOR, ClientAuthority, TlsVersion, server_context
from certs.errors import CertificateError
from certs.pair import Pair, check_in_date, parse_pair
from certs.pem_file import read_pem_file

__all__ = ["CertificateFiles"]

log = logging.getLogger("certs")


_Issuer = tuple[x509.Name, bytes]


@dataclass(frozen=True, kw_only=True)
class _Content:
    """What stood in the files at one moment."""

    certificate_pem: bytes
    key_pem: bytes = field(repr=False)
    client_ca: ClientAuthority | None


class CertificateFiles:
    """The newest good pair of two files. Loading the first one raises; later faults keep the pair before.

    A certificate of another CA than the one served waits for `settle_seconds`, for who has to trust that CA learns of
    it no earlier than these files change. `boot_clock` gives seconds that also pass while the machine is suspended.
    """

    context: ssl.SSLContext
    """Serves the newest good pair; another object after a reload."""

    expires_at: datetime
    """When that pair's certificate expires."""

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        client_ca: Path | None = None,
        tls_min_version: TlsVersion = TLS_FLOOR,
        settle_seconds: float = 0.0,
        clock: Clock = utc_now,
        boot_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load the pair, and the CA of client certificates if there is one; raises CertificateError."""
        self._certificate = certificate
        self._key = key
        self._client_ca = ClientAuthorityFile(client_ca) if client_ca else None
        self._tls_min_version = tls_min_version
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._boot_clock = boot_clock
        self._coming: tuple[_Issuer, float] | None = None
        content = self._read()
        self._serve(content, self._parse(content))
        self._fault = ""

    @property
    def fault(self) -> str:
        """Why the files as they are now can't be used, or empty."""
        return self._fault or (self._client_ca.fault if self._client_ca else "")

    def poll(self) -> bool:
        """Load the files again if they changed, and tell whether another pair is served now.

        A pair that can't be used is tried again at each poll (it may be half written, or not yet valid) and
        logged once.
        """
        try:
            # Compared by content: a link may point elsewhere (a Secret's volume), and a file may be written
            # twice within one tick of its file system's clock.
            content = self._read()
            pair = self._parse(content) if content != self._served else None
            is_due = pair is not None and not self._has_to_wait(pair)
            if pair is not None and is_due:
                self._serve(content, pair)
        except CertificateError as error:
            self._refuse(str(error))
            return False
        self._fault = ""
        if is_due:
            log.info("certificate reloaded from %s", self._certificate)
        return is_due

    def _refuse(self, fault: str) -> None:
        if fault != self._fault:
            log.error("%s; serving the previous pair", fault)
        self._fault = fault

    def _read(self) -> _Content:
        return _Content(
            certificate_pem=read_pem_file(self._certificate),
            key_pem=read_pem_file(self._key),
            client_ca=self._client_ca.poll() if self._client_ca else None,
        )

    def _parse(self, content: _Content) -> Pair:
        pair = parse_pair(
            content.certificate_pem,
            content.key_pem,
            certificate_name=f"certificate {self._certificate}",
            key_name=f"key {self._key}",
        )
        check_in_date(
            pair.certificate,
            self._clock(),
            name=f"certificate {self._certificate}",
            next_step=f"renew it, together with its key {self._key}",
        )
        return pair

    def _has_to_wait(self, pair: Pair) -> bool:
        issuer, now = _issuer_of(pair.certificate), self._boot_clock()
        if issuer == self._issuer or self.expires_at <= self._clock():
            return False
        if self._coming is None or self._coming[0] != issuer:
            self._coming = issuer, now
            if self._settle_seconds > 0:
                log.info(
                    "certificate %s is of another CA than the one served: it is served in %g s, "
                    "when API servers have learned of that CA",
                    self._certificate,
                    self._settle_seconds,
                )
        return now - self._coming[1] < self._settle_seconds

    def _serve(self, content: _Content, pair: Pair) -> None:
        self.context = server_context(
            content.certificate_pem,
            content.key_pem,
            client_ca=content.client_ca,
            tls_min_version=self._tls_min_version,
        )
        self.expires_at = pair.certificate.not_valid_after_utc
        self._issuer = _issuer_of(pair.certificate)
        self._coming = None
        self._served = content


def _issuer_of(certificate: x509.Certificate) -> _Issuer:
    """Return which CA signed this: its name and which of its keys.

    Where the certificate doesn't tell the key, as those don't that Go makes and signs by themselves, it is taken for
    one of a CA of its own.
    """
    try:
        extension = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    except (ValueError, x509.ExtensionNotFound):
        key_identifier = None
    else:
        key_identifier = extension.value.key_identifier
    return certificate.issuer, key_identifier or certificate.fingerprint(SHA256())
