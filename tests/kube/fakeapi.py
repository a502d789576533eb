"""A scripted API server on a real TLS socket, for faults that the real one can't be made to show.

A test gives one script: a function that is called with each `Exchange`. `in_order` makes one of several steps.
"""

from __future__ import annotations

import functools
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import trustme
from urllib3 import HTTPSConnectionPool

from webhook.kube.transport import KubeClient

Script = Callable[["Exchange"], None]
PATIENCE_SECONDS = 10.0


@functools.cache
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@functools.cache
def client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(context)
    return context


@functools.cache
def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, sock: ssl.SSLSocket, closing: threading.Event, head: bytes, body: bytes) -> None:
        request_line, *lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = request_line.split(" ")
        self.path = urlsplit(target).path
        self.query = dict(parse_qsl(urlsplit(target).query))
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self.body = body
        self._sock = sock
        self._closing = closing

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def raw(self, data: bytes) -> None:
        self._sock.sendall(data)

    def reply(self, status: int, body: object, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.raw(f"HTTP/1.1 {status} Scripted\r\nContent-Length: {len(data)}\r\n{extra}\r\n".encode() + data)

    def refuse(
        self, status: int, message: str = "scripted refusal", reason: str = "", **headers: str
    ) -> None:
        self.reply(
            status, {"kind": "Status", "code": status, "message": message, "reason": reason}, **headers
        )

    def open_stream(self) -> None:
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, kind: str, item: object) -> None:
        self.chunk(json.dumps({"type": kind, "object": item}).encode() + b"\n")

    def end_stream(self) -> None:
        self.raw(b"0\r\n\r\n")

    def cut(self) -> None:
        """Drop the connection as a dying server or a firewall would."""
        with suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def hang(self) -> None:
        """Say nothing until the test ends or the client hangs up."""
        self._sock.settimeout(0.02)
        while not self._closing.is_set():
            with suppress(TimeoutError):
                if not self._sock.recv(1):
                    return


class FakeApi:
    """The server: `with FakeApi(script) as api: client = api.client()`. A script that fails fails the test."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._clients: list[KubeClient] = []
        self._failures: list[BaseException] = []
        self._arrival = threading.Condition()
        self.port: int = self._listener.getsockname()[1]
        self.exchanges: list[Exchange] = []
        self.connections = 0

    def client(self, **options: Any) -> KubeClient:
        trust = client_context()
        options = {"authorization": lambda: "Bearer sesame", "user_agent": "test/1", **options}
        client = KubeClient(
            lambda: HTTPSConnectionPool("127.0.0.1", self.port, ssl_context=trust, maxsize=32), **options
        )
        self._clients.append(client)
        return client

    def wait_for(self, condition: Callable[[list[Exchange]], bool]) -> list[Exchange]:
        """Return the requests so far, as soon as they satisfy the condition."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: condition(self.exchanges), PATIENCE_SECONDS), self.exchanges
            return list(self.exchanges)

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for client in self._clients:
            client.close()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        deadline = time.monotonic() + PATIENCE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            assert not thread.is_alive(), "a connection of the fake API server did not end"
        if error is None and self._failures:
            raise self._failures[0]

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with _server_context().wrap_socket(connection, server_side=True) as sock:
                sock.settimeout(0.02)
                while (exchange := self._receive(sock)) is not None:
                    with self._arrival:
                        self.exchanges.append(exchange)
                        self._arrival.notify_all()
                    sock.settimeout(PATIENCE_SECONDS)
                    self._script(exchange)
                    sock.settimeout(0.02)
        except OSError:
            pass  # the client hung up, which some tests are about
        except BaseException as error:  # noqa: BLE001 (raised again where the test can see it)
            self._failures.append(error)
        finally:
            connection.close()

    def _receive(self, sock: ssl.SSLSocket) -> Exchange | None:
        data = b""
        while True:
            head, ended, body = data.partition(b"\r\n\r\n")
            if ended:
                lengths = [
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ]
                if len(body) >= sum(lengths):
                    return Exchange(sock, self._closing, head, body)
            try:
                received = sock.recv(1 << 16)
            except TimeoutError:
                if self._closing.is_set():
                    return None
                continue
            if not received:
                return None
            data += received


def in_order(*steps: Script) -> Script:
    """Answer the first request with the first step, and so on; requests after the last step hang."""
    lock = threading.Lock()
    left = list(steps)

    def script(exchange: Exchange) -> None:
        with lock:
            step = left.pop(0) if left else Exchange.hang
        step(exchange)

    return script
