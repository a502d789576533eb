from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.serving.conftest import LOCAL
from webhook.serving.config import Config
from webhook.serving.connection import Connection
from webhook.serving.options import ServingOptions


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def idle(sock: socket.socket) -> Connection:
    """Return a connection through with its handshake; without TLS, of which nothing depends here."""
    config = Config(ServingOptions(**LOCAL))
    connection = Connection(config, sock, "client", "server")
    connection.begin_requests()
    connection.rest()
    return connection


class BusyWithoutData:
    """A TLS socket that works at what is no data."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.was_idle: bool | None = None

    def settimeout(self, _seconds: float | None) -> None:
        pass

    def recv(self, _size: int) -> bytes:
        self.was_idle = self._connection.idle
        raise ssl.SSLWantReadError


def test_what_comes_on_an_idle_connection_has_a_deadline_also_where_it_is_no_data(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    connection = idle(pair[0])
    busy = BusyWithoutData(connection)
    connection.sock = busy  # type: ignore[assignment]

    complete = connection.receive()

    assert not complete
    assert busy.was_idle is False
    assert connection.idle


def test_a_request_that_came_early_is_not_waited_for(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _theirs = pair
    connection = idle(ours)
    connection._unreader.unread(b"GET / HTTP/1.1\r\n")

    assert connection.has_more(math.inf)


@pytest.mark.parametrize("sent", [b"", b"G"])
def test_a_connection_has_more_only_if_something_arrives(
    pair: tuple[socket.socket, socket.socket], sent: bytes
) -> None:
    ours, theirs = pair
    connection = idle(ours)

    theirs.sendall(sent)

    assert connection.has_more(0.01) == bool(sent)
