"""A connection that can be ended from another thread, and words for why one broke."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from urllib3.connection import HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

__all__ = ["AbortableConnection", "OpenConnections", "explain"]


class OpenConnections:
    """The connections of one client, so that closing the client ends whatever they wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: WeakSet[AbortableConnection] = WeakSet()
        self.closed = False

    def add(self, connection: AbortableConnection) -> None:
        """Remember a connection; one that comes after `close` is ended at once."""
        with self._lock:
            self._connections.add(connection)
            late = self.closed
        if late:
            connection.abort()

    def close(self) -> None:
        """End all connections, those in use too."""
        with self._lock:
            self.closed = True
            connections = list(self._connections)
        for connection in connections:
            connection.abort()


class AbortableConnection(HTTPSConnection):
    """urllib3's connection, which another thread can end while this one's owner reads from it."""

    def __init__(self, *args: Any, opened: OpenConnections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._opened = opened
        self._own_socket: object = None

    def connect(self) -> None:
        """Connect as urllib3 does, and be known to the client."""
        super().connect()
        # Kept beside `sock`, which http.client hands over to a response that ends with the connection.
        self._own_socket = self.sock
        self._opened.add(self)

    def allow_silence(self, seconds: float) -> None:
        """Let each following read wait this long."""
        if isinstance(self._own_socket, socket.socket):
            self._own_socket.settimeout(seconds)

    def abort(self) -> None:
        """Make a blocked read or write return at once, as if the server had gone."""
        if isinstance(self._own_socket, socket.socket):
            # The base class's method: SSLSocket.shutdown would drop the TLS state under the reading thread.
            with suppress(OSError):
                socket.socket.shutdown(self._own_socket, socket.SHUT_RDWR)


def explain(error: BaseException) -> str:
    """Say in a few words why there was no answer and what to look at."""
    if isinstance(error, NameResolutionError):
        return "its name can't be resolved; check the server address and DNS"
    if isinstance(error, NewConnectionError):
        return f"no connection ({_root(error)}); check the address and that it runs"
    if isinstance(error, (ConnectTimeoutError, ReadTimeoutError, TimeoutError)):
        return "no answer in time; check that it runs and that the network lets us through"
    if isinstance(error, SSLError):
        return f"TLS failed ({_root(error)}); check the certificate authority that we were given"
    return f"the connection broke ({_root(error)})"


def _root(error: BaseException) -> str:
    """Return the text of the fault at the bottom of a chain of exceptions."""
    while True:
        inner = error.__cause__ or next((each for each in error.args if isinstance(each, Exception)), None)
        if inner is None:
            break
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
