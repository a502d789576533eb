"""gunicorn's thread worker, fit for TLS clients that are slow, silent or don't hang up.

Four defects of gunicorn 27's `gthread` are mended here. tests/serving/test_worker.py shows each of them on
gunicorn's own worker as well, so that a release that mends one is noticed:

A. A connection that has finished its handshake and sends nothing holds a thread. Go's HTTP client, and so the
   API server, opens such connections whenever several calls start at once.
B. Handshake, head and body have no deadline.
C. Closing waits up to 2 s for the client to close too, in the main loop: everyone waits.
D. One connection as in A makes the stop last as long as it may, and end with SIGKILL.

The main loop never waits for a client: it only holds those that owe us something, each with a deadline. A
thread is taken when something has arrived, and kept only by a request whose head is complete, and for a moment
after the answer: where the next request follows at once, it costs a fifth less, as the main loop has no part in it.
"""

from __future__ import annotations

import errno
import math
import selectors
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from operator import attrgetter

from gunicorn.http import Request
from gunicorn.http.errors import ParseException
from gunicorn.workers.gthread import ThreadWorker

from webhook.serving.config import Config
from webhook.serving.connection import Connection
from webhook.serving.exchange import exchange
from webhook.serving.refusal import FAULT_OF_OURS, Refusal

__all__ = ["TlsThreadWorker"]

# Private or undocumented in gunicorn, and relied on here, hence the pin to 27 in setup.cfg:
#   ThreadWorker: poller, nr_conns, keepalived_conns, accept, enqueue_req, handle, finish_request,
#     murder_keepalived, murder_pending, _cap_keepalive
#   TConn: sock, client, parser, initialized
#   RequestParser: unreader, next, finish_body; Unreader: take_buffered, unread

# How long a client may take to close its side after we closed ours; until then what it sends is thrown away, as
# a reset could destroy the answer on its way (RFC 9112 section 9.6).
_CLOSING_SECONDS = 2.0

# How long a thread stays with a connection after an answer. Half of the threads may, so that a crowd of clients that
# pause finds the other half.
_STAY_SECONDS = 0.01

# How often deadlines are looked at, at most. The main loop runs at least once a second.
_SWEEP_SECONDS = 0.25

# Who needs longer than this for a handshake or a head makes room for a newcomer where there is none. An API server
# needs milliseconds; what it holds idle would be missed more.
_PATIENCE_SECONDS = 1.0

# No connection can be accepted, and the poller would tell of the one that waits again and again.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_EXHAUSTED_PAUSE_SECONDS = 0.1
_EXHAUSTED_TOLD_SECONDS = 60.0


class TlsThreadWorker(ThreadWorker):
    """The thread worker with defects A to D mended."""

    cfg: Config

    def init_process(self) -> None:
        """Run the worker until it is told to stop."""
        self._owing: set[Connection] = set()  # all that are not idle; touched by the main loop alone
        self._queued: set[Connection] = set()  # that wait for a thread
        self._staying: set[Connection] = set()
        self._next_sweep = -math.inf
        self._stop_by = math.inf  # for what a client has only half sent
        self._exhausted = False
        self._next_told = -math.inf
        super().init_process()

    def init_signals(self) -> None:
        """Leave Ctrl-C, which a terminal sends to every process, to the master."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def accept(self, listener: socket.socket) -> None:
        """Accept one connection; it gets a thread when its first bytes are there."""
        self._accept(listener)

    def _accept(self, listener: socket.socket) -> bool:
        try:
            sock, client = listener.accept()
        except BlockingIOError:
            return False  # another worker was faster
        except OSError as error:
            self._could_not_accept(error)
            return False
        self.nr_conns += 1
        conn = Connection(self.cfg, sock, client, listener.getsockname())
        self._owing.add(conn)
        self._watch(conn, self._on_readable)
        return True

    def _could_not_accept(self, error: OSError) -> None:
        if error.errno not in _EXHAUSTED:
            # Linux passes the new socket's network errors on here (accept(2)); none concerns the listener.
            self.log.debug("could not accept a connection: %s", error)
            return
        now = time.monotonic()
        if now >= self._next_told:
            self._next_told = now + _EXHAUSTED_TOLD_SECONDS
            self.log.error(
                "can't accept connections: %s (with %d open); raise the limit of open files",
                error,
                self.nr_conns,
            )
        self._exhausted = True

    def _watch(self, conn: Connection, callback: Callable[[Connection], None]) -> None:
        self.poller.register(conn.sock, selectors.EVENT_READ, lambda _: callback(conn))

    def _on_readable(self, conn: Connection) -> None:
        self.poller.unregister(conn.sock)
        self.enqueue_req(conn)

    def enqueue_req(self, conn: Connection) -> None:  # type: ignore[override]  # there are no others
        """Give the connection the next free thread."""
        conn.queue()
        self._owing.add(conn)
        self._queued.add(conn)
        super().enqueue_req(conn)

    def handle(self, conn: Connection) -> bool:  # type: ignore[override]  # there are no others
        """Take in what has arrived and answer a request that is complete; return whether to keep the connection.

        Runs in a thread of the pool.
        """
        self._queued.discard(conn)
        conn.unqueue()
        try:
            return self._answer(conn)
        except OSError as error:  # such as a reset, a timeout, or what is no TLS
            self.log.debug("lost the connection from %s: %s", conn.peer, error)
        except ParseException as error:
            refusal = Refusal.of(error)
            self.log.info("refused a request from %s: %s", conn.peer, refusal.text)
            conn.refuse(refusal)
        except Exception:
            self.log.exception("could not answer a request from %s", conn.peer)
            conn.refuse(FAULT_OF_OURS)
        return False

    def _answer(self, conn: Connection) -> bool:
        while conn.receive():
            request = conn.next_request()
            if request is None or not self._exchange(request, conn) or not conn.rest():
                return False
            # A client that sends one request after the other would keep the thread for ever.
            if self._queued or not self._stay(conn):
                break
        return True

    def _exchange(self, request: Request, conn: Connection) -> bool:
        self.cfg.pre_request(self, request)
        last = not self.alive or len(self.keepalived_conns) >= self.max_keepalived
        return exchange(self.wsgi, request, conn, last=last)

    def _stay(self, conn: Connection) -> bool:
        """Wait a moment for the connection's next request; return whether it has begun."""
        if len(self._staying) >= self.cfg.threads // 2:
            return False  # the others are for those who wait for a thread
        self._staying.add(conn)
        try:
            return conn.has_more(_STAY_SECONDS)
        finally:
            self._staying.discard(conn)

    def finish_request(self, conn: Connection, fs: Future[bool]) -> None:  # type: ignore[override]  # as above
        """Decide what becomes of a connection that comes back from its thread. Runs in the main loop."""
        conn.place = "poller"
        if (error := fs.exception()) is not None:
            self.log.error("could not serve %s", conn.peer, exc_info=error)
        if error is not None or not fs.result():
            self._part_from(conn)
        elif conn.idle:
            self._owing.discard(conn)
            super().finish_request(conn, fs)
        else:
            conn.deadline = min(conn.deadline, self._stop_by)
            self._watch(conn, self._on_readable)

    def _part_from(self, conn: Connection) -> None:
        """Close our side now, and the connection once the client has closed its own, or after a while."""
        if conn.is_closed:
            self._close(conn)
            return
        conn.end_sending()
        conn.grant(_CLOSING_SECONDS)
        self._watch(conn, self._on_readable_while_closing)

    def _on_readable_while_closing(self, conn: Connection) -> None:
        if conn.client_is_done():
            self._drop(conn)

    def _close(self, conn: Connection) -> None:
        self._owing.discard(conn)
        self.nr_conns -= 1
        conn.close()

    def murder_keepalived(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 (gunicorn's signature)
        """Close the idle connections whose time is over, and another one where there is no room for one more client.

        gunicorn calls this in each turn of the main loop. It would rather accept nobody for as long as a crowd
        is silent.
        """
        if self._exhausted or self.nr_conns >= self.worker_connections:
            made = self._make_room()
            if self._exhausted and not made:
                time.sleep(_EXHAUSTED_PAUSE_SECONDS)
            self._exhausted = False
        super().murder_keepalived(force)  # type: ignore[call-arg]  # missing in the stubs

    def _make_room(self) -> bool:
        """Close a connection that no request is under way on, if there is one, and tell whether there was.

        That is one that has been slow, or the one that has been idle for longest, or the one that will be slow next.
        """
        slowest = min(
            (conn for conn in self._owing if conn.place == "poller"), key=attrgetter("deadline"), default=None
        )
        patience = self.cfg.request_deadline_seconds - _PATIENCE_SECONDS
        if self.keepalived_conns and (slowest is None or slowest.deadline > time.monotonic() + patience):
            self.keepalived_conns[0].timeout = -math.inf
            super().murder_keepalived()
            return True
        if slowest is None:
            return False
        self._drop(slowest)
        return True

    def _drop(self, conn: Connection) -> None:
        self.poller.unregister(conn.sock)
        self._close(conn)

    def murder_pending(self) -> None:
        """End the connections whose deadline has passed. gunicorn calls this in each turn of the main loop."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_SECONDS
        for conn in list(self._owing):
            # First the place, then the deadline: a thread that takes the connection from the queue sets them the
            # other way round, and must not be cut off for the time in the queue.
            place = conn.place
            if place == "queue" or conn.deadline > now:
                continue
            if place == "thread":
                conn.cut()
            else:
                self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """Bound what a stop waits for. gunicorn calls this once, when it begins to stop.

        A client that connects from now on is refused, instead of waiting in the kernel for an answer that
        would not come; those that the kernel has accepted before are still served.
        """
        super()._cap_keepalive(deadline)  # type: ignore[misc]  # not in the stubs, as it is private
        for listener in self.sockets:
            while self.nr_conns < self.worker_connections and self._accept(listener):
                pass
            listener.close()
        self._stop_by = deadline
        for conn in self._owing:
            if conn.place == "poller":
                conn.deadline = min(conn.deadline, deadline)
