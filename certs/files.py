"""A pair that somebody else keeps in files (cert-manager, an admin): checked, and reloaded on change."""

from __future__ import annotations

import logging
import ssl
from datetime import datetime
from pathlib import Path

from certs.clock import Clock, utc_now
from certs.context import server_context
from certs.errors import CertificateError, UnreadableFile
from certs.pair import check_in_date, parse_pair

__all__ = ["CertificateFiles", "read_file"]

_log = logging.getLogger("custom_scheduler.certs")

_Stamp = tuple[tuple[int, int, int, int], ...]


class CertificateFiles:
    """The newest good pair of two files. Loading the first one raises; later faults keep the pair before."""

    context: ssl.SSLContext
    """Serves the newest good pair; another object after a reload."""

    expires_at: datetime
    """When that pair's certificate expires."""

    fault: str
    """Why the files as they are now can't be served, or empty."""

    def __init__(
        self, certificate: Path, key: Path, *, client_ca: Path | None = None, clock: Clock = utc_now
    ) -> None:
        """Load the pair, and the CA of client certificates if there is one; raises CertificateError."""
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._clock = clock
        self._stamp, self.context, self.expires_at = self._load()
        self.fault = ""

    def poll(self) -> bool:
        """Load the files again if they changed, and tell whether another pair is served now.

        A pair that can't be used is tried again at each poll (it may be half written, or not yet valid) and
        logged once.
        """
        try:
            if not self.fault and self._stat() == self._stamp:
                return False
            self._stamp, self.context, self.expires_at = self._load()
        except CertificateError as error:
            if str(error) != self.fault:
                _log.error("%s; serving the previous pair", error)
            self.fault = str(error)
            return False
        self.fault = ""
        _log.info("certificate reloaded from %s", self._certificate)
        return True

    def _load(self) -> tuple[_Stamp, ssl.SSLContext, datetime]:
        # Looked at before it is read: a change in between is seen by the next poll.
        stamp = self._stat()
        certificate_pem, key_pem = read_file(self._certificate), read_file(self._key)
        pair = parse_pair(
            certificate_pem,
            key_pem,
            certificate_name=f"certificate {self._certificate}",
            key_name=f"key {self._key}",
        )
        check_in_date(
            pair.certificate,
            self._clock(),
            name=f"certificate {self._certificate}",
            next_step=f"renew it, together with its key {self._key}",
        )
        client_ca_pem = read_file(self._client_ca) if self._client_ca else None
        context = server_context(certificate_pem, key_pem, client_ca_pem=client_ca_pem)
        return stamp, context, pair.certificate.not_valid_after_utc

    def _stat(self) -> _Stamp:
        return tuple(_stamp(path) for path in (self._certificate, self._key, self._client_ca) if path)


def _stamp(path: Path) -> tuple[int, int, int, int]:
    # Follows links, as a Secret's volume is renewed by pointing its `..data` link at another folder.
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def read_file(path: Path) -> bytes:
    """Return what is in the file; raises UnreadableFile."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> UnreadableFile:
    return UnreadableFile(
        f"{path} can't be read ({error.strerror}): put the PEM file there and let this user read it"
    )
