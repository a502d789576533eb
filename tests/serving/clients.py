"""Clients that are slow, silent or don't hang up."""

from __future__ import annotations

import socket
import ssl
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.serving.server import Server

Client = Callable[[Server], socket.socket]


def half_a_hello(server: Server) -> socket.socket:
    """Send the first byte of a ClientHello."""
    sock = server.tcp()
    sock.sendall(b"\x16")
    return sock


def half_a_head(server: Server) -> socket.socket:
    """Send a request line and nothing more."""
    sock = server.tls()
    sock.sendall(b"POST /echo HTTP/1.1\r\n")
    return sock


def half_a_body(server: Server) -> socket.socket:
    """Send a head that promises ten bytes, and five of them."""
    sock = server.tls()
    sock.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
    return sock


def silent_tcp(server: Server) -> socket.socket:
    """Connect, and send nothing."""
    return server.tcp()


def silent_tls(server: Server) -> socket.socket:
    """Finish the handshake, as Go's client does ahead of time, and send nothing."""
    return server.tls()


def answered(server: Server) -> socket.socket:
    """Get an answer, and keep the connection without a word."""
    sock = server.tls()
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert sock.recv(65536)
    return sock


def lingering(server: Server) -> socket.socket:
    """Get the last answer of a connection, see the server close it, and don't close it in turn."""
    sock = server.tls()
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert everything(sock).endswith(b"ok")
    return sock


def plain_http(server: Server) -> socket.socket:
    """Speak HTTP where TLS is spoken, as a probe does that names the wrong scheme, and don't close."""
    sock = server.tcp()
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    everything(sock)
    return sock


def everything(sock: socket.socket) -> bytes:
    """Return all that the server sends until it closes its side, or breaks the connection."""
    received = b""
    try:
        while data := sock.recv(65536):
            received += data
    except (ConnectionError, ssl.SSLError):
        pass
    return received


@contextmanager
def held(server: Server, client: Client, count: int) -> Iterator[list[socket.socket]]:
    """Keep this many such clients connected."""
    with ExitStack() as stack:
        yield [stack.enter_context(client(server)) for _ in range(count)]


def median_answers(*servers: Server, rounds: int = 31) -> list[float]:
    """Return for each server the median of the seconds in which new clients get their answers, asked in turns."""
    answers = [[server.seconds_to_answer() for server in servers] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*answers, strict=True)]
