"""The ops port: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from webhook.serving.readiness import Readiness

__all__ = ["OpsServer"]

log = logging.getLogger("custom_scheduler.serving")

# A client gets this long for its request, the answer and its own closing.
_CONNECTION_SECONDS = 5.0
# The oldest connection makes room for one more. A probe is through in milliseconds, so a crowd of silent
# clients only pushes itself out.
_MAX_CONNECTIONS = 64
_MAX_HEAD_BYTES = 16 * 1024
_TOLD_SECONDS = 60.0

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class _Page(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = _TEXT


class OpsServer:
    """Answers on one thread, whatever the number of clients.

    `not_ready` returns why this process should get no traffic, a line each, and `metrics` the metrics in
    Prometheus' text format, among them whether `component` is ready; the log tells that too. `documents` are further paths that answer with
    JSON. All run on that thread and must not block.
    Several processes may share `listener`, each with a server of its own: whichever is free answers.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        not_ready: Callable[[], list[str]],
        metrics: Callable[[], bytes],
        component: str,
        documents: Mapping[str, Callable[[], bytes]] | None = None,
    ) -> None:
        self._listener = listener
        self._metrics = metrics
        self._readiness = Readiness(not_ready, component=component)
        self._pages = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics_page}
        self._clients: dict[_Client, None] = {}  # in the order of their coming
        for path, document in (documents or {}).items():
            self._pages[path] = partial(_json_page, document)
        self._next_told = -math.inf
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._tell)
        self._thread = threading.Thread(target=self._loop.run_forever, name="ops", daemon=True)

    def start(self) -> None:
        """Begin to answer. The socket belongs to this server from now on, and `close` closes it."""
        self._server = self._loop.run_until_complete(
            self._loop.create_server(
                lambda: _Client(self._loop, self._clients, self._answer), sock=self._listener
            )
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering and cut what is open."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._wind_down())
        self._loop.close()

    async def _wind_down(self) -> None:
        self._server.close()
        if being_accepted := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(being_accepted)
        for client in list(self._clients):
            client.cut()
        await asyncio.sleep(0)  # in which the transports close their sockets

    def _tell(self, _loop: asyncio.AbstractEventLoop, fault: dict[str, Any]) -> None:
        """Log what asyncio can't handle. That no connection can be accepted it finds out a hundred times a second."""
        error = fault.get("exception")
        if not isinstance(error, OSError):
            log.error("%s", fault["message"], exc_info=error)
        elif self._loop.time() >= self._next_told:
            self._next_told = self._loop.time() + _TOLD_SECONDS
            log.error(
                "the ops port can't accept connections: %s (with %d open); raise the limit of open files",
                error.strerror,
                len(self._clients),
            )

    def _healthz(self) -> _Page:
        return _Page(HTTPStatus.OK, b"ok\n")

    def _readyz(self) -> _Page:
        reasons = self._readiness.reasons()
        if not reasons:
            return _Page(HTTPStatus.OK, b"ok\n")
        return _Page(HTTPStatus.SERVICE_UNAVAILABLE, "".join(f"{reason}\n" for reason in reasons).encode())

    def _metrics_page(self) -> _Page:
        self._readiness.reasons()
        return _Page(HTTPStatus.OK, self._metrics(), _METRICS)

    def _answer(self, request_line: str) -> bytes:
        """Return the whole answer to a request; a fault of ours is logged and is a 500."""
        try:
            method, target, _version = request_line.split(" ")
        except ValueError:
            return _encode(_Page(HTTPStatus.BAD_REQUEST, b"not HTTP\n"))
        page = self._pages.get(target.partition("?")[0])
        if page is None:
            paths = " ".join(self._pages)
            return _encode(_Page(HTTPStatus.NOT_FOUND, f"there are {paths}\n".encode()))
        if method not in ("GET", "HEAD"):
            return _encode(_Page(HTTPStatus.METHOD_NOT_ALLOWED, b"GET or HEAD\n"), "Allow: GET, HEAD\r\n")
        try:
            return _encode(page(), with_body=method == "GET")
        except Exception:
            log.exception("could not answer %s", target)
            return _encode(_Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"see the log\n"))


def _json_page(document: Callable[[], bytes]) -> _Page:
    return _Page(HTTPStatus.OK, document(), _JSON)


def _encode(page: _Page, headers: str = "", *, with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\nContent-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n{headers}Connection: close\r\n\r\n"
    )
    return head.encode() + (page.body if with_body else b"")


class _Client(asyncio.Protocol):
    """One connection: one request, one answer, and an end after a few seconds whatever happens."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clients: dict[_Client, None], answer: Callable[[str], bytes]
    ) -> None:
        self._loop = loop
        self._clients = clients
        self._answer = answer
        self._head = b""
        self._answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._end = self._loop.call_later(_CONNECTION_SECONDS, self.cut)
        self._clients[self] = None
        if len(self._clients) > _MAX_CONNECTIONS:
            next(iter(self._clients)).cut()

    def data_received(self, data: bytes) -> None:
        if self._answered:
            return
        self._head += data
        if b"\r\n\r\n" in self._head:
            self._answered = True
            request_line = self._head.split(b"\r\n", 1)[0].decode("latin-1")
            self._transport.write(self._answer(request_line))
            # The client closes next. Closing here could destroy the answer, were there more to read.
            self._transport.write_eof()
        elif len(self._head) > _MAX_HEAD_BYTES:
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._end.cancel()
        del self._clients[self]

    def cut(self) -> None:
        """End the connection now."""
        self._transport.abort()
