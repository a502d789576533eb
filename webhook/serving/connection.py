"""One client's connection: what it has sent so far, and by when it has to have sent the rest."""

from __future__ import annotations

import math
import select
import socket
import ssl
import time
from contextlib import suppress
from typing import Literal

from gunicorn.http import Request, RequestParser
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import LimitRequestHeaders, UnsupportedTransferCoding
from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.gthread import TConn

from webhook.serving.config import Config
from webhook.serving.refusal import Refusal

__all__ = ["Connection", "Place"]

Place = Literal["poller", "queue", "thread"]
"""Who has a connection: the main loop's poller, the queue before the threads, or one of them."""

_TLS_RECORD_BYTES = 16384
_END_OF_HEAD = b"\r\n\r\n"
# Longer than what an API server sends by far. gunicorn's parser has limits for each part of a head, but would wait
# for the rest of it, in a thread.
_MAX_HEAD_BYTES = 64 * 1024

# The same answer as Go's net/http gives, for the person whose probe or scraper names the wrong scheme.
_PLAIN_HTTP_ANSWER = (
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"This port speaks HTTPS.\n"
)


class Connection(TConn):
    """A TConn that never waits: handshake and request head arrive piece by piece, without a thread.

    `deadline` (monotonic seconds) is when the client has to be through with what it began: its handshake, a
    request up to the end of the answer, or the closing. It is infinite while the client owes nothing. Time that
    the connection spends waiting for a thread does not count.
    """

    cfg: Config
    place: Place

    def __init__(self, cfg: Config, sock: socket.socket, client: str, server: str) -> None:
        super().__init__(cfg, sock, client, server)
        self.place = "poller"
        self.deadline = math.inf
        self._queued_at = math.inf
        self.grant(cfg.request_deadline_seconds)

    @property
    def peer(self) -> str:
        """The client's host, for the log."""
        return str(self.client[0] if isinstance(self.client, tuple) else self.client)

    def grant(self, seconds: float) -> None:
        """Set the deadline this far from now."""
        self.deadline = time.monotonic() + seconds

    def queue(self) -> None:
        """Stop the clock, as it is we who let the client wait now."""
        self.place = "queue"
        self._queued_at = time.monotonic()

    def unqueue(self) -> None:
        """Let the clock run again, now that a thread is there."""
        self.deadline += time.monotonic() - self._queued_at
        self.place = "thread"

    @property
    def idle(self) -> bool:
        """Whether the client has nothing half done."""
        return self.deadline == math.inf

    @property
    def is_closed(self) -> bool:
        """Whether our side has been closed already, as gunicorn does in some errors."""
        return self.sock.fileno() == -1

    def receive(self) -> bool:
        """Take in what has arrived, without waiting; return whether a request's whole head is there.

        Raises OSError (ssl.SSLError is one) where the client has gone or does not speak TLS, and LimitRequestHeaders
        where the head is too long. Of a request line without end the parser says so at once.
        """
        self.sock.settimeout(0)
        if self.idle:
            # OpenSSL may be kept busy by what is no data, such as new keys.
            self.grant(self.cfg.request_deadline_seconds)
        try:
            if not self.initialized:
                self._shake_hands()
                self.grant(self.cfg.request_deadline_seconds)
            return self._receive_head()
        except ssl.SSLWantReadError:
            return False

    def _shake_hands(self) -> None:
        if not isinstance(self.sock, ssl.SSLSocket):
            self.sock = ssl_wrap_socket(self.sock, self.cfg)
        try:
            self.sock.do_handshake()
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":
                socket.socket.send(self.sock, _PLAIN_HTTP_ANSWER)
            raise
        self.begin_requests()

    def begin_requests(self) -> None:
        """Expect requests from now on."""
        self.parser = self._parser = RequestParser(self.cfg, self.sock, self.client)
        self._unreader = self._parser.unreader
        self._arrivals = select.poll()
        self._arrivals.register(self.sock, select.POLLIN)
        self.initialized = True

    def _receive_head(self) -> bool:
        head = bytearray(self._unreader.take_buffered())
        try:
            while _END_OF_HEAD not in head and len(head) < _MAX_HEAD_BYTES:
                data = self.sock.recv(_TLS_RECORD_BYTES)
                if not data:
                    raise ConnectionAbortedError("closed by the client")
                head += data
        finally:
            if not head:
                self.deadline = math.inf
            self._unreader.unread(head)
        if _END_OF_HEAD not in head and b"\r\n" in head:
            raise LimitRequestHeaders(f"the head is longer than {_MAX_HEAD_BYTES} bytes")
        return True

    def next_request(self) -> Request | None:
        """Return the request whose head is there, or None where the client said that the last one was the last.

        Raises ParseException. From now on this connection may wait, and so hold a thread, until the deadline.
        """
        self.sock.settimeout(None)
        try:
            request: Request = next(self._parser)
        except StopIteration:
            return None
        for name, value in request.headers:
            if name == "TRANSFER-ENCODING" and value.lower() != "chunked":
                # gunicorn would hand on a compressed body as if it weren't (RFC 9112 section 6.1).
                raise UnsupportedTransferCoding(value)
        return request

    def refuse(self, refusal: Refusal) -> None:
        """Answer what can't be taken; nothing that follows could be understood."""
        with suppress(OSError):
            self.sock.settimeout(None)
            self.sock.sendall(refusal.encoded())

    def rest(self) -> bool:
        """Be idle after an answer, ready for the next request; return False where that can't be.

        That is where much of a body was left unread. What OpenSSL has decrypted already would never make the socket
        readable, so it is moved to where gunicorn looks for a request that came early.
        """
        if not self._is_read() and not self._parser.finish_body(deadline=self.deadline):  # type: ignore[func-returns-value]  # stubs
            return False
        self._parser.mesg = None  # or the parser would look for the rest of its body again
        self.deadline = math.inf
        if isinstance(self.sock, ssl.SSLSocket) and (waiting := self.sock.pending()):
            self._unreader.unread(self._unreader.take_buffered() + self.sock.recv(waiting))
        return True

    def _is_read(self) -> bool:
        """Tell without a system call whether the request has come to its end, as is usual."""
        body = self._parser.mesg.body if self._parser.mesg else None
        return body is not None and isinstance(body.reader, LengthReader) and body.reader.length == 0

    def has_more(self, seconds: float) -> bool:
        """Wait until there is something to receive, for so long at most; return whether there is."""
        return bool(self._unreader.buf.getbuffer().nbytes or self._arrivals.poll(seconds * 1000))

    def end_sending(self) -> None:
        """Say that nothing more will come: TLS close_notify, then FIN. Does not wait for the client's own."""
        self.sock.settimeout(0)
        with suppress(OSError, ValueError):  # ValueError: the handshake did not even begin
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.unwrap()
        with suppress(OSError):
            socket.socket.shutdown(self.sock, socket.SHUT_WR)

    def client_is_done(self) -> bool:
        """Throw away what the client still sends; return whether it has closed its side."""
        try:
            return not socket.socket.recv(self.sock, 65536)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def cut(self) -> None:
        """End the connection under the thread that waits for it, which then sees it broken.

        Not SSLSocket.shutdown, which would take the TLS state away from under that thread.
        """
        with suppress(OSError):
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
