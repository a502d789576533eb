from __future__ import annotations

import math
import signal
import socket
import ssl
import threading
import time
from contextlib import closing, suppress

import pytest

from tests.serving.clients import (
    Client,
    answered,
    everything,
    half_a_body,
    half_a_head,
    half_a_hello,
    held,
    lingering,
    median_answers,
    plain_http,
    silent_tcp,
    silent_tls,
)
from tests.serving.conftest import Start
from tests.serving.server import Server
from tests.waiting import eventually
from webhook.serving.worker import TlsThreadWorker

# No test here bounds what a busy machine may take: a client waits for PATIENCE_SECONDS, and what must not happen would
# take longer. Where a figure is promised, calls to a server that nobody troubles are the measure.

STUCK_SECONDS = 2.0
"""How long a client gets no answer from gunicorn's own worker before that counts as stuck."""

DEADLINE_SECONDS = 2.0
"""A deadline that a handshake keeps on a busy machine too."""

CLOSING_SECONDS = 2.0
"""How long a client that doesn't hang up is waited for."""


# Defect A: a connection that has finished its handshake and is silent holds a thread.


def test_silent_tls_connections_hold_no_thread(start: Start) -> None:
    server = start(threads=2, request_deadline_seconds=60)

    with held(server, silent_tls, 4):
        assert server.get() == "ok"


def test_gunicorns_own_worker_is_stuck_behind_silent_tls_connections(start: Start) -> None:
    server = start(threads=2, worker="stock")

    with held(server, silent_tls, 2):
        assert server.is_stuck(STUCK_SECONDS)


def test_connections_that_were_just_answered_leave_half_of_the_threads_to_others(start: Start) -> None:
    server = start(threads=2, stay_seconds=60)

    with held(server, answered, 4):
        assert server.get() == "ok"


def test_a_thread_stays_with_a_connection_for_its_next_request(start: Start) -> None:
    server = start(threads=2, stay_seconds=60)
    client = server.http()

    def thread() -> str:
        client.request("GET", "/thread")
        return client.getresponse().read().decode()

    with closing(client):
        mine = thread()
        with held(server, answered, 4):
            assert thread() == mine


# Defect B: no deadline for handshake, head and body.


@pytest.mark.parametrize("client", [silent_tcp, half_a_hello, half_a_head])
def test_what_is_half_sent_holds_no_thread(start: Start, client: Client) -> None:
    server = start(threads=2, request_deadline_seconds=60)

    with held(server, client, 4):
        assert server.get() == "ok"


@pytest.mark.parametrize("client", [silent_tcp, half_a_hello, half_a_head, half_a_body])
def test_what_is_half_sent_ends_at_its_deadline(start: Start, client: Client) -> None:
    server = start(threads=2, request_deadline_seconds=DEADLINE_SECONDS)

    began = time.monotonic()
    with held(server, client, 2) as socks:
        assert [everything(sock) for sock in socks] == [b""] * 2

    assert time.monotonic() - began >= DEADLINE_SECONDS
    assert not server.logged("ERROR")


def test_half_a_body_holds_its_thread_until_the_deadline(start: Start) -> None:
    server = start(threads=2, request_deadline_seconds=DEADLINE_SECONDS)

    began = time.monotonic()
    with held(server, half_a_body, 2):
        # On a busy machine, the deadline may be too short for a handshake.
        eventually(server.answers, "an answer")

    assert time.monotonic() - began >= DEADLINE_SECONDS


class TakenFromTheQueue:
    """A connection that a thread takes from the queue just as its deadline is looked at."""

    def __init__(self) -> None:
        self.place = "queue"
        self.was_cut = False
        self._deadlines = [-math.inf, math.inf]

    @property
    def deadline(self) -> float:
        self.place = "thread"
        return self._deadlines.pop(0)

    def cut(self) -> None:
        self.was_cut = True


def test_a_request_is_not_cut_off_for_the_time_that_it_had_to_wait_for_a_thread() -> None:
    conn = TakenFromTheQueue()
    worker = TlsThreadWorker.__new__(TlsThreadWorker)
    worker._next_sweep = -math.inf
    worker._owing = {conn}  # type: ignore[arg-type]

    worker.murder_pending()

    assert not conn.was_cut


def test_gunicorns_own_worker_is_stuck_behind_what_is_half_sent(start: Start) -> None:
    server = start(threads=3, worker="stock", request_deadline_seconds=0.2)

    with held(server, half_a_hello, 1), held(server, half_a_head, 1), held(server, half_a_body, 1):
        assert server.is_stuck(STUCK_SECONDS)


# Defect C: closing waits for the client in the main loop.


@pytest.mark.parametrize("client", [lingering, plain_http])
def test_clients_that_do_not_hang_up_delay_nobody(start: Start, client: Client) -> None:
    server = start(threads=2)

    def others_are_answered_meanwhile() -> bool:
        with held(server, client, 1) as (sock,):
            return server.get() == "ok" and not is_cut(sock)

    # On a busy machine, the answer may come when the time to close is over already.
    eventually(others_are_answered_meanwhile, "an answer while a client doesn't hang up")


def test_gunicorns_own_worker_waits_for_a_client_that_does_not_hang_up(start: Start) -> None:
    server = start(threads=2, worker="stock")

    began = time.monotonic()
    with held(server, lingering, 1) as (sock,):
        server.get()

        assert is_cut(sock)
    assert time.monotonic() - began >= CLOSING_SECONDS


def test_a_client_that_does_not_hang_up_is_cut_after_a_while(server: Server) -> None:
    began = time.monotonic()
    with held(server, lingering, 1) as (sock,):
        eventually(lambda: is_cut(sock), "the connection is cut")

    assert time.monotonic() - began >= CLOSING_SECONDS


def is_cut(sock: socket.socket) -> bool:
    """Return whether the server has let go of a connection of which it has closed its side."""
    try:
        for _ in range(2):  # the first may be what the reset answers
            socket.socket.send(sock, b"more")
    except ConnectionError:
        return True
    return False


# Defect D: one silent connection makes the stop last as long as it may.


def test_a_stop_waits_only_briefly_for_those_who_said_nothing(start: Start) -> None:
    server = start(graceful_seconds=60, request_deadline_seconds=60)

    with (
        held(server, silent_tcp, 1),
        held(server, silent_tls, 1),
        held(server, half_a_hello, 1),
        held(server, half_a_head, 1),
    ):
        server.signal(signal.SIGTERM)

        assert server.exit_code() == 0

    server.await_log("service stopped")


def test_a_stop_waits_only_briefly_for_the_rest_of_a_head_that_was_queued_when_it_began(start: Start) -> None:
    server = start(threads=1, graceful_seconds=60, request_deadline_seconds=60)

    with server.tls() as queued, half_a_body(server) as busy:
        queued.sendall(b"POST /echo HTTP/1.1\r\n")
        server.signal(signal.SIGTERM)
        eventually(server.refuses, "the port is closed")
        busy.sendall(b"67890")

        assert server.exit_code() == 0


def test_gunicorns_own_worker_takes_all_its_grace(start: Start) -> None:
    server = start(graceful_seconds=3, worker="stock")

    with held(server, silent_tls, 1):
        assert server.seconds_to_stop() > 3


# Crowds, at the default number of threads.


@pytest.mark.parametrize(
    ("client", "count"),
    [
        pytest.param(half_a_hello, 16, id="16 slow handshakes"),
        pytest.param(half_a_head, 16, id="16 slow heads"),
        pytest.param(half_a_body, 16, id="16 slow bodies"),
        pytest.param(silent_tcp, 64, id="64 silent TCP connections"),
        pytest.param(silent_tls, 64, id="64 silent TLS connections"),
        pytest.param(lingering, 32, id="32 lingering closers"),
        pytest.param(plain_http, 32, id="32 plain HTTP clients"),
    ],
)
def test_a_crowd_leaves_answers_under_50_ms(
    server: Server, quiet_server: Server, client: Client, count: int
) -> None:
    with held(server, client, count):
        troubled, quiet = median_answers(server, quiet_server)

    # Where the machine is busy with something else, the crowd may at most double what an answer takes.
    assert troubled < max(0.05, 2 * quiet)


@pytest.mark.parametrize("client", [silent_tcp, half_a_hello, silent_tls, half_a_head])
def test_a_crowd_that_takes_all_connections_makes_room_for_a_new_client(start: Start, client: Client) -> None:
    server = start(open_files=128, request_deadline_seconds=60)  # so that there may be 64 connections

    with held(server, client, 80):
        assert [server.get() for _ in range(3)] == ["ok"] * 3


def test_those_who_are_slow_make_room_before_those_who_are_idle(start: Start) -> None:
    server = start(open_files=128, request_deadline_seconds=60)
    kept = server.http()
    kept.request("GET", "/")
    kept.getresponse().read()

    with held(server, half_a_head, 62):
        patience_ends = time.monotonic() + 1.1
        eventually(lambda: time.monotonic() > patience_ends, "they are slow")
        assert [server.get() for _ in range(3)] == ["ok"] * 3
        kept.request("GET", "/")

        assert kept.getresponse().read() == b"ok"
    kept.close()


@pytest.mark.parametrize("client", [silent_tcp, silent_tls, half_a_head])
def test_a_server_that_may_open_no_more_files_makes_room_too_and_says_so_once(
    start: Start, client: Client
) -> None:
    server = start(spare_files=8, request_deadline_seconds=60)

    with held(server, client, 20):
        assert [server.get() for _ in range(3)] == ["ok"] * 3

    server.await_log("can't accept connections: [Errno 24] Too many open files (with ")
    assert sum("can't accept" in line for line in server.log) == 1
    assert not server.logged("Traceback")


def test_clients_that_never_pause_leave_threads_to_others(start: Start) -> None:
    server = start(threads=8)
    many = 3000
    received = [bytearray() for _ in range(8)]

    def read(answers: bytearray, sock: socket.socket) -> None:
        with suppress(OSError):
            while data := sock.recv(65536):
                answers += data

    with held(server, silent_tls, len(received)) as socks:
        readers = [threading.Thread(target=read, args=each) for each in zip(received, socks, strict=True)]
        for reader in readers:
            reader.start()
        for sock in socks:
            sock.sendall(many * b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        answer = server.get()
        done = max(answers.count(b"HTTP/1.1 200") for answers in received)
        for sock in socks:
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for reader in readers:
            reader.join()

    assert answer == "ok"
    assert done < many  # nobody had to be through for that


# What must go on working.


def test_a_connection_is_kept_between_requests(server: Server) -> None:
    client = server.http()

    for _ in range(3):
        client.request("GET", "/")
        answer = client.getresponse()
        assert (answer.read(), answer.getheader("Connection")) == (b"ok", "keep-alive")

    client.close()


def test_an_idle_connection_outlives_the_deadline_of_a_request(start: Start) -> None:
    server = start(request_deadline_seconds=DEADLINE_SECONDS)
    idle = server.tls()
    used = server.http()
    used.request("GET", "/")
    used.getresponse().read()

    with held(server, half_a_head, 1) as (slow,):
        everything(slow)
    idle.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    used.request("GET", "/")

    assert everything(idle).endswith(b"ok")
    assert used.getresponse().read() == b"ok"
    idle.close()
    used.close()


def test_a_request_may_arrive_byte_by_byte(server: Server) -> None:
    with server.tls() as sock:
        for byte in b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc":
            sock.sendall(bytes([byte]))

        assert everything(sock).endswith(b"\r\n\r\n3")


def test_a_request_that_comes_early_is_answered_even_if_openssl_has_read_it_already(server: Server) -> None:
    early = b"GET /pid HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    with server.tls() as sock:
        sock.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n")
        sock.sendall(b"x" * 10000 + early)  # one TLS record
        answers = everything(sock)

    assert answers.count(b"HTTP/1.1 200 OK") == 2


def test_a_client_may_close_its_side_before_the_answer(server: Server) -> None:
    with server.tls() as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        socket.socket.shutdown(sock, socket.SHUT_WR)

        assert everything(sock).endswith(b"ok")


def test_the_server_says_goodbye_as_tls_demands(server: Server) -> None:
    sock = server.authority.client_context.wrap_socket(
        server.tcp(), server_hostname="127.0.0.1", suppress_ragged_eofs=False
    )
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    while sock.recv(65536):  # SSLEOFError without it
        pass

    sock.close()


def test_a_body_that_is_cut_off_is_an_error_to_the_application_and_no_short_body(start: Start) -> None:
    server = start()

    half_a_body(server).close()

    server.await_log("a body was cut off")


# Bodies over the application's limit.


def test_a_chunked_body_over_the_limit_is_refused_and_the_connection_ends(server: Server) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    with server.tls() as sock:
        sock.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(160):  # 10 MiB
            sock.sendall(chunk)
        answer = everything(sock)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_announced_over_the_limit_is_refused_and_the_connection_ends(server: Server) -> None:
    with server.tls() as sock:
        sock.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n")
        for _ in range(90):
            sock.sendall(b"x" * 100_000)
        answer = everything(sock)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_under_the_limit_is_taken(server: Server) -> None:
    client = server.http()

    client.request("POST", "/echo", body=iter([b"x" * 1000] * 1000), encode_chunked=True)

    assert client.getresponse().read() == b"1000000"
    client.close()


# Clients that do not speak TLS or HTTP.


def test_plain_http_is_told_so(server: Server) -> None:
    with server.tcp() as sock:
        sock.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = everything(sock)

    assert answer.startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert answer.endswith(b"This port speaks HTTPS.\n")


def test_noise_is_not_worth_a_warning(server: Server) -> None:
    log_before = len(server.log)
    for noise in (b"", b"\x00" * 600, b"GET / HTTP/1.1\r\n\r\n"):
        with server.tcp() as sock:
            sock.sendall(noise)
    with server.tls():
        pass
    untrusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ssl.SSLCertVerificationError):
        untrusting.wrap_socket(server.tcp(), server_hostname="127.0.0.1")
    assert server.get() == "ok"

    assert not [line for line in server.log[log_before:] if line.startswith(("WARNING", "ERROR"))]


def test_a_head_without_end_is_refused(server: Server) -> None:
    with server.tls() as sock:
        sock.sendall(b"GET /" + b"x" * 100_000)
        answer = everything(sock)

    assert answer.startswith(b"HTTP/1.1 414 ")
