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

from certs.clock import Clock, utc_now
from certs.context import TLS_FLOOR, ClientAuthority, TlsVersion, server_context
from certs.errors import CertificateError, UnreadableFile
from certs.pair import Pair, check_in_date, parse_pair

__all__ = ["CertificateFiles", "read_client_authority"]

# No Secret or ConfigMap can be larger: k8s.io/api/core/v1 MaxSecretSize.
_LARGEST = 1024 * 1024

log = logging.getLogger("certs")


_Issuer = tuple[x509.Name, bytes | None]


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

    fault: str
    """Why the files as they are now can't be served, or empty."""

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
        self._client_ca = client_ca
        self._tls_min_version = tls_min_version
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._boot_clock = boot_clock
        self._coming: tuple[_Issuer, float] | None = None
        content = self._read()
        self._serve(content, self._parse(content))
        self.fault = ""

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
        self.fault = ""
        if is_due:
            log.info("certificate reloaded from %s", self._certificate)
        return is_due

    def _refuse(self, fault: str) -> None:
        if fault != self.fault:
            log.error("%s; serving the previous pair", fault)
        self.fault = fault

    def _read(self) -> _Content:
        return _Content(
            certificate_pem=_read(self._certificate),
            key_pem=_read(self._key),
            client_ca=read_client_authority(self._client_ca),
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
    """Return which CA signed this: its name, and which of its keys where the certificate tells."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    except (ValueError, x509.ExtensionNotFound):
        return certificate.issuer, None
    return certificate.issuer, extension.value.key_identifier


def read_client_authority(path: Path | None) -> ClientAuthority | None:
    """Return the CA of client certificates in this file, or None without a file; raises UnreadableFile."""
    return None if path is None else ClientAuthority(pem=_read(path), name=f"client CA {path}")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise UnreadableFile(
            f"{path} can't be read ({error.strerror}): put the PEM file there and let this user read it"
        ) from None
    if len(content) > _LARGEST:
        raise UnreadableFile(f"{path} is larger than 1 MiB: put the PEM file there, and nothing else")
    return content
