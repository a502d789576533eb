from __future__ import annotations

import http.client
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from prometheus_client import REGISTRY, generate_latest

from webhook.serving import ops
from webhook.serving.ops import OpsServer
from webhook.serving.sockets import listen

TIMEOUT_SECONDS = 10


def nothing() -> list[str]:
    return []


def no_metrics() -> bytes:
    return b"# none\n"


@contextmanager
def ops_server(
    not_ready: Callable[[], list[str]] = nothing, metrics: Callable[[], bytes] = no_metrics
) -> Iterator[int]:
    listener = listen("127.0.0.1", 0, option="--ops-port")
    port: int = listener.getsockname()[1]
    server = OpsServer(listener, not_ready=not_ready, metrics=metrics, component="webhook")
    server.start()
    try:
        yield port
    finally:
        server.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)


def ask(port: int, path: str, method: str = "GET") -> tuple[int, bytes, http.client.HTTPMessage]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    client.request(method, path)
    answer = client.getresponse()
    body = answer.read()
    client.close()
    return answer.status, body, answer.headers


def test_a_process_that_answers_is_healthy_even_if_it_is_not_ready() -> None:
    with ops_server(not_ready=lambda: ["no policy"]) as port:
        assert ask(port, "/healthz")[:2] == (200, b"ok\n")


def test_readiness_is_ok_without_reasons_against_it() -> None:
    with ops_server() as port:
        assert ask(port, "/readyz")[:2] == (200, b"ok\n")


def test_readiness_lists_what_is_missing() -> None:
    with ops_server(not_ready=lambda: ["no policy", "no certificate"]) as port:
        assert ask(port, "/readyz")[:2] == (503, b"no policy\nno certificate\n")


def test_metrics_are_served_as_prometheus_text() -> None:
    with ops_server(metrics=lambda: b"up 1\n") as port:
        status, body, headers = ask(port, "/metrics")

    assert (status, body) == (200, b"up 1\n")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_the_metrics_say_what_readiness_says_also_where_only_they_are_asked_for() -> None:
    reasons = ["no policy"]
    with ops_server(not_ready=lambda: reasons, metrics=lambda: generate_latest(REGISTRY)) as port:
        assert b'custom_scheduler_ready{component="webhook"} 0.0' in ask(port, "/metrics")[1]
        reasons.clear()
        assert b'custom_scheduler_ready{component="webhook"} 1.0' in ask(port, "/metrics")[1]


def test_a_query_does_not_matter() -> None:
    with ops_server() as port:
        assert ask(port, "/readyz?verbose")[0] == 200


def test_head_is_get_without_the_body() -> None:
    with ops_server(metrics=lambda: b"up 1\n") as port:
        status, body, headers = ask(port, "/metrics", method="HEAD")

    assert (status, body, headers["Content-Length"]) == (200, b"", "5")


@pytest.mark.parametrize("path", ["/", "/validate", "/metrics/", "//healthz"])
def test_there_is_nothing_else(path: str) -> None:
    with ops_server() as port:
        assert ask(port, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(method: str) -> None:
    with ops_server() as port:
        status, _, headers = ask(port, "/healthz", method=method)

    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_what_is_not_http_is_a_bad_request() -> None:
    with ops_server() as port, connect(port) as sock:
        sock.sendall(b"hello\r\n\r\n")

        assert sock.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_a_request_may_come_in_pieces() -> None:
    with ops_server() as port, connect(port) as sock:
        for piece in (b"GET /heal", b"thz HTTP/1.1\r\nHost: x\r", b"\n\r", b"\n"):
            sock.sendall(piece)

        assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_fault_of_ours_is_logged_and_the_server_lives_on(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> bytes:
        raise ZeroDivisionError("a bug")

    with ops_server(metrics=broken) as port:
        statuses = [ask(port, "/metrics")[0], ask(port, "/healthz")[0]]

    assert statuses == [500, 200]
    assert caplog.record_tuples == [("custom_scheduler.serving", logging.ERROR, "could not answer /metrics")]


def test_a_crowd_of_silent_clients_pushes_itself_out_and_not_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "_CONNECTION_SECONDS", 60)

    with ops_server() as port, ExitStack() as stack:
        crowd = [stack.enter_context(connect(port)) for _ in range(3 * ops._MAX_CONNECTIONS)]

        assert ask(port, "/healthz")[0] == 200
        assert crowd[0].recv(1) == b""


def test_an_answer_ends_with_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "_CONNECTION_SECONDS", 60)

    with ops_server() as port, connect(port) as sock, sock.makefile("rb") as file:
        sock.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")

        assert file.read().endswith(b"ok\n")


def test_a_silent_client_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "_CONNECTION_SECONDS", 0.1)

    with ops_server() as port, connect(port) as sock:
        assert sock.recv(1) == b""


def test_a_client_that_does_not_hang_up_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "_CONNECTION_SECONDS", 0.1)
    gone = threading.Event()
    monkeypatch.setattr(ops._Client, "connection_lost", lambda self, exc: gone.set())

    with ops_server() as port, connect(port) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")

        assert gone.wait(TIMEOUT_SECONDS)


def test_an_endless_head_is_cut() -> None:
    with ops_server() as port, connect(port) as sock, pytest.raises(ConnectionError):
        sock.sendall(b"x" * (100 << 20))


def test_nothing_is_left_after_closing() -> None:
    before = threading.active_count()

    with ops_server() as port:
        sock = connect(port)
        assert ask(port, "/healthz")[0] == 200

    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        connect(port)
    sock.close()
