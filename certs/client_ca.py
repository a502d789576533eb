"""The CAs of client certificates, in a file that somebody else keeps: checked, and read again."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from certs.context import ClientAuthority
from certs.errors import CertificateError
from certs.pem_file import read_pem_file

__all__ = ["ClientAuthorityFile"]

log = logging.getLogger("certs")


class ClientAuthorityFile:
    """The newest usable content of a file. Reading the first one raises; later faults keep the one before."""

    current: ClientAuthority
    """The CAs whose certificates are to be accepted."""

    fault: str
    """Why the file as it is now can't be used, or empty."""

    def __init__(self, path: Path) -> None:
        """Read the file; raises UnreadableFile and InvalidClientAuthority."""
        self._path = path
        self.current = self._read()
        self.fault = ""

    def poll(self) -> ClientAuthority:
        """Read the file again and return what is to be accepted; what is wrong with it is logged once."""
        try:
            self.current = self._read()
        except CertificateError as error:
            self._refuse(str(error))
        else:
            self.fault = ""
        return self.current

    def _refuse(self, fault: str) -> None:
        if fault != self.fault:
            log.error("%s; client certificates are accepted as before", fault)
        self.fault = fault

    def _read(self) -> ClientAuthority:
        authority = ClientAuthority(pem=read_pem_file(self._path), name=f"client CA {self._path}")
        authority.demand_in(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        return authority
