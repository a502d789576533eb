"""One request given to the WSGI application, and the answer sent in one piece."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterable, MutableMapping
from email.utils import formatdate
from functools import lru_cache
from typing import Any, cast

from gunicorn.http import Request, wsgi

from webhook.serving.connection import Connection

__all__ = ["exchange"]

log = logging.getLogger("custom_scheduler.serving")

Application = Callable[[MutableMapping[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Outgoing:
    """What gunicorn writes an answer to, in place of the socket: it gathers head and body.

    Sent one by one, each would be a TLS record and a segment of its own, for which this thread gives up the
    interpreter and the client wakes up.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._answer = bytearray()

    def send(self, data: bytes) -> int:
        """Send at once what is no part of the answer: 100 Continue."""
        return self._sock.send(data)

    def sendall(self, data: bytes) -> None:
        """Add a piece of the answer."""
        self._answer += data

    def flush(self) -> None:
        """Send the answer."""
        self._sock.sendall(self._answer)


class _Response(wsgi.Response):
    """gunicorn's, without its name, and with a date that is put in words once a second."""

    def default_headers(self) -> list[str]:
        """Return the head's first lines."""
        major, minor = self.req.version or (1, 1)
        lines = [
            f"HTTP/{major}.{minor} {self.status}\r\n",
            f"Date: {_date(int(time.time()))}\r\n",
            f"Connection: {'close' if self.should_close() else 'keep-alive'}\r\n",
        ]
        return [*lines, "Transfer-Encoding: chunked\r\n"] if self.chunked else lines


@lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def exchange(app: Application, request: Request, conn: Connection, *, last: bool) -> bool:
    """Answer a request; return whether the connection can be used for another one, which `last` forbids.

    An answer has to fit into memory. Raises what the application raises; nothing has been sent then. What it has to
    do when its answer is closed is done when the client has the answer.
    """
    outgoing = _Outgoing(conn.sock)
    sock = cast("socket.socket", outgoing)
    response, environ = wsgi.create(request, sock, conn.client, conn.server, conn.cfg, _Response)
    environ["wsgi.multithread"] = True
    if last:
        response.force_close()
    pieces = app(environ, response.start_response)
    try:
        for piece in pieces:
            response.write(piece)
        response.close()
        outgoing.flush()
    finally:
        _wind_up(pieces)
    return not response.should_close()


def _wind_up(pieces: Iterable[bytes]) -> None:
    try:
        if hasattr(pieces, "close"):
            pieces.close()
    except Exception:  # the client has its answer
        log.exception("could not wind up a request")
