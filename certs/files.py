"""A pair that somebody else keeps in files (cert-manager, an admin): checked, and reloaded on change."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from certs.clock import Clock, utc_now
from certs.context import TLS_FLOOR, ClientAuthority, TlsVersion, server_context
from certs.errors import CertificateError, UnreadableFile
from certs.pair import check_in_date, parse_pair

__all__ = ["CertificateFiles", "read_client_authority"]

# No Secret or ConfigMap can be larger: k8s.io/api/core/v1 MaxSecretSize.
_LARGEST = 1024 * 1024

log = logging.getLogger("certs")


@dataclass(frozen=True, kw_only=True)
class _Content:
    """What stood in the files at one moment."""

    certificate_pem: bytes
    key_pem: bytes = field(repr=False)
    client_ca: ClientAuthority | None


class CertificateFiles:
    """The newest good pair of two files. Loading the first one raises; later faults keep the pair before."""

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
        clock: Clock = utc_now,
    ) -> None:
        """Load the pair, and the CA of client certificates if there is one; raises CertificateError."""
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._tls_min_version = tls_min_version
        self._clock = clock
        self._load(self._read())
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
            changed = content != self._served
            if changed:
                self._load(content)
        except CertificateError as error:
            self._refuse(str(error))
            return False
        self.fault = ""
        if changed:
            log.info("certificate reloaded from %s", self._certificate)
        return changed

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

    def _load(self, content: _Content) -> None:
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
        self.context = server_context(
            content.certificate_pem,
            content.key_pem,
            client_ca=content.client_ca,
            tls_min_version=self._tls_min_version,
        )
        self.expires_at = pair.certificate.not_valid_after_utc
        self._served = content


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
