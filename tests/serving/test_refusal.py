"""Requests that end below the application: each gets one line of plain text, and nobody a traceback."""

from __future__ import annotations

import pytest

from tests.serving.clients import everything
from tests.serving.conftest import Start
from tests.serving.server import Server
from tests.waiting import eventually

POST = b"POST /echo HTTP/1.1\r\nHost: x\r\n"

REFUSED = {
    "no request line": (b"hello\r\n\r\n", 400, "'hello'"),
    "a blank request line": (b"\r\n\r\n", 400, "request line"),
    "a lower-case method": (b"get / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "'get'"),
    "a target that is no path": (b"GET example.org HTTP/1.1\r\nHost: x\r\n\r\n", 400, "example.org"),
    "control characters in the target": (b"GET /\x1b[31m HTTP/1.1\r\nHost: x\r\n\r\n", 400, r"\x1b[31m"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "HTTP"),
    "a long request line": (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "4094"),
    "a request line without end": (b"GET /" + b"x" * 100_000, 414, "4094"),
    "a long field": (POST + b"X: " + b"x" * 9000 + b"\r\n\r\n", 431, "fields size"),
    "many fields": (POST + b"X: x\r\n" * 101 + b"\r\n", 431, "headers fields"),
    "a head without end": (POST + b"X: x\r\n" * 20_000, 431, "the head is longer than 65536 bytes"),
    "a field without a colon": (POST + b"nonsense\r\n\r\n", 400, "'nonsense'"),
    "a long field without a colon": (POST + b"n" * 60_000 + b"\r\n\r\n", 400, "n..."),
    "a folded field": (POST + b"X: x\r\n y\r\n\r\n", 400, "line folding"),
    "a blank before the colon": (POST + b"X : x\r\n\r\n", 400, "'X '"),
    "two hosts": (POST + b"Host: y\r\n\r\n", 400, "HOST"),
    "two lengths": (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "CONTENT-LENGTH"),
    "two lengths that agree": (
        POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        400,
        "CONTENT-LENGTH",
    ),
    "a length that is no number": (POST + b"Content-Length: +1\r\n\r\nx", 400, "CONTENT-LENGTH"),
    "a length and chunks": (
        POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "CONTENT-LENGTH",
    ),
    "chunks in HTTP/1.0": (
        b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "TRANSFER-ENCODING",
    ),
    "chunks of gzip": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "gzip, chunked"),
    "chunks of gzip, said in two fields": (
        POST + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        501,
        "gzip",
    ),
    "gzip without chunks": (POST + b"Transfer-Encoding: gzip\r\n\r\n", 400, "TRANSFER-ENCODING"),
    "an unknown coding": (POST + b"Transfer-Encoding: zstd, chunked\r\n\r\n", 501, "zstd"),
    "an expectation": (POST + b"Expect: the impossible\r\n\r\n", 417, "the impossible"),
}


def asked(server: Server, request: bytes) -> tuple[bytes, bytes]:
    """Send bytes on a new connection; return head and body of what comes until the server closes."""
    with server.tls() as sock:
        sock.sendall(request)
        head, _, body = everything(sock).partition(b"\r\n\r\n")
    return head, body


def since(server: Server, start: int, text: str) -> list[str] | None:
    """Return the lines that were logged from `start` on, once one of them contains the text."""
    lines = server.log[start:]
    return lines if any(text in line for line in lines) else None


@pytest.mark.parametrize(("request_bytes", "status", "named"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused_in_one_line(
    server: Server, request_bytes: bytes, status: int, named: str
) -> None:
    log_before = len(server.log)

    head, body = asked(server, request_bytes)

    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nContent-Type: text/plain; charset=utf-8\r\n" in head
    assert b"\r\nConnection: close" in head
    assert b"gunicorn" not in head
    text = body.decode()
    assert named in text
    assert text.endswith("\n")
    assert text.removesuffix("\n").isprintable()
    assert len(text) < 300
    assert server.get() == "ok"
    new = eventually(
        lambda: since(server, log_before, "refused a request from 127.0.0.1: "), "the refusal is logged"
    )
    assert not [line for line in new if "Traceback" in line or line.startswith(("WARNING", "ERROR"))]


def test_a_fault_below_the_application_is_logged_and_the_client_told_where(start: Start) -> None:
    server = start()

    head, body = asked(server, b"GET /crash HTTP/1.1\r\nHost: x\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 500 ")
    assert body == b"a fault of ours: see the log\n"
    server.await_log("ZeroDivisionError: a bug")


def test_no_answer_tells_the_version_of_a_server(start: Start) -> None:
    server = start()

    for path in (b"/", b"/absent", b"/crash"):
        head, _ = asked(server, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert not any(line.startswith((b"Server: gunicorn/", b"Via", b"X-")) for line in head.split(b"\r\n"))


def test_a_body_may_wait_for_leave_to_come(server: Server) -> None:
    with server.tls() as sock:
        sock.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
        leave = sock.recv(65536)
        sock.sendall(b"abc")
        answer = everything(sock)

    assert leave == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.endswith(b"\r\n\r\n3")


def test_http_1_0_is_answered_and_ends(server: Server) -> None:
    head, body = asked(server, b"POST /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc")

    assert head.startswith(b"HTTP/1.0 200 ")
    assert body == b"3"
