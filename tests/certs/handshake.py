"""A TLS handshake over loopback, as an API server would make it."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass

_TIMEOUT_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What a client saw of a server that it trusted."""

    certificate: bytes
    version: str | None


def strict_client(ca_pem: bytes) -> ssl.SSLContext:
    """Return a client context that trusts this bundle alone and takes RFC 5280 at its word."""
    context = ssl.create_default_context(cadata=ca_pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> Connection:
    """Let the client connect to the server under the name `host`, and return what it saw.

    Raises what the client met: ssl.SSLError when either side refuses the other.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_TIMEOUT_SECONDS)
        thread = threading.Thread(target=_answer_once, args=(listener, server))
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), _TIMEOUT_SECONDS) as raw,
                client.wrap_socket(raw, server_hostname=host) as connection,
            ):
                # Under TLS 1.3 a refusal of the client's certificate comes after the client's own handshake.
                assert connection.recv(1) == b"!"
                certificate = connection.getpeercert(binary_form=True)
                assert certificate is not None
                return Connection(certificate=certificate, version=connection.version())
        finally:
            thread.join()


def _answer_once(listener: socket.socket, context: ssl.SSLContext) -> None:
    raw, _ = listener.accept()
    with raw:
        raw.settimeout(_TIMEOUT_SECONDS)
        with suppress(OSError), context.wrap_socket(raw, server_side=True) as connection:
            connection.sendall(b"!")
            connection.recv(1)  # until the client closes
