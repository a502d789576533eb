from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.serving.conftest import LOCAL
from webhook.serving.config import Config
from webhook.serving.connection import Connection
from webhook.serving.exchange import exchange
from webhook.serving.options import ServingOptions

StartResponse = Callable[..., Any]


class CountingSocket(socket.socket):
    """Notes what is sent with each call, and whether the time to wait was changed."""

    sent: list[bytes]
    touched = False

    def settimeout(self, value: float | None) -> None:
        self.touched = True
        super().settimeout(value)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.sent.append(bytes(data))
        super().sendall(data, flags)


@pytest.fixture
def sock() -> Iterator[CountingSocket]:
    """A socket whose other end has sent a request with an empty body."""
    ours, theirs = socket.socketpair()
    with theirs, CountingSocket(fileno=ours.detach()) as sock:
        sock.sent = []
        theirs.sendall(b"POST /path HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        yield sock


def asked(sock: socket.socket) -> Connection:
    """Return the connection of that socket, its request's head received."""
    connection = Connection(Config(ServingOptions(**LOCAL)), sock, ("127.0.0.1", 4), ("127.0.0.1", 443))  # type: ignore[arg-type]
    connection.begin_requests()
    assert connection.receive()
    return connection


def in_pieces(_environ: object, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "6")])
    return [b"one", b"two"]


def failing_halfway(_environ: object, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "6")])
    yield b"one"
    raise ZeroDivisionError


def ask(connection: Connection, app: Any, *, last: bool = False) -> bool:
    request = connection.next_request()
    assert request is not None
    return exchange(app, request, connection, last=last)


def test_head_and_body_leave_in_one_piece(sock: CountingSocket) -> None:
    ask(asked(sock), in_pieces)

    assert len(sock.sent) == 1
    assert sock.sent[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert sock.sent[0].endswith(b"\r\n\r\nonetwo")


@pytest.mark.parametrize("last", [True, False])
def test_the_client_is_told_whether_the_connection_stays(sock: CountingSocket, *, last: bool) -> None:
    stays = ask(asked(sock), in_pieces, last=last)

    assert stays is not last
    assert (b"\r\nConnection: close\r\n" in sock.sent[0]) == last


def test_of_an_answer_that_fails_halfway_nothing_is_sent(sock: CountingSocket) -> None:
    with pytest.raises(ZeroDivisionError):
        ask(asked(sock), failing_halfway)

    assert sock.sent == []


def test_a_request_that_was_read_to_its_end_is_over_without_a_system_call(sock: CountingSocket) -> None:
    connection = asked(sock)
    ask(connection, in_pieces)
    sock.touched = False

    assert connection.rest()
    assert not sock.touched


def test_an_answer_has_the_date_of_its_second(sock: CountingSocket) -> None:
    before = int(time.time())

    ask(asked(sock), in_pieces)

    date = http.client.parse_headers(io.BytesIO(sock.sent[0].partition(b"\r\n")[2]))["Date"]
    assert before <= parsedate_to_datetime(date).timestamp() <= time.time()
    assert date.endswith(" GMT")


def without_length(_environ: object, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [b"one", b"two"]


def test_an_answer_of_unknown_length_is_chunked(sock: CountingSocket) -> None:
    assert ask(asked(sock), without_length)

    assert b"\r\nTransfer-Encoding: chunked\r\n" in sock.sent[0]
    assert sock.sent[0].endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


class Closing(list[bytes]):
    """An answer that calls something when it is closed."""

    def __init__(self, when_closed: Callable[[], object]) -> None:
        super().__init__([b"onetwo"])
        self.close = when_closed


def answering(pieces: Iterable[bytes]) -> Any:
    def app(_environ: object, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "6")])
        return pieces

    return app


def test_an_answer_is_closed_when_the_client_has_it(sock: CountingSocket) -> None:
    sent_before: list[int] = []

    ask(asked(sock), answering(Closing(lambda: sent_before.append(len(sock.sent)))))

    assert sent_before == [1]


def test_what_goes_wrong_after_the_answer_is_logged_and_the_connection_goes_on(
    sock: CountingSocket, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(asked(sock), answering(Closing(lambda: 1 // 0)))

    assert len(sock.sent) == 1
    assert "ZeroDivisionError" in caplog.text
