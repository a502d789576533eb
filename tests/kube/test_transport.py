from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path

import pytest
import trustme
from urllib3 import HTTPSConnectionPool

from tests.kube.fakeapi import Exchange, FakeApi, client_context, in_order
from tests.waiting import eventually
from webhook.errors import ApiError, ClusterError, Unreachable
from webhook.kube.transport import KubeClient, ThrottledError


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def client_for(port: int, context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> KubeClient:
    trust = context or client_context()
    return KubeClient(
        lambda: HTTPSConnectionPool(host, port, ssl_context=trust),
        authorization=lambda: None,
        user_agent="test/1",
    )


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ok(exchange: Exchange) -> None:
    exchange.reply(200, {})


def test_a_request_carries_method_path_query_body_and_credentials() -> None:
    with FakeApi(lambda exchange: exchange.reply(201, {"kind": "Status"})) as api:
        answer = api.client().request(
            "POST", "/api/v1/x", query=[("dryRun", "All")], body=b"{}", content_type="application/a+json"
        )

    assert answer == b'{"kind": "Status"}'
    (seen,) = api.exchanges
    assert (seen.method, seen.path, seen.query, seen.body) == ("POST", "/api/v1/x", {"dryRun": "All"}, b"{}")
    assert seen.headers["authorization"] == "Bearer sesame"
    assert seen.headers["user-agent"] == "test/1"
    assert seen.headers["content-type"] == "application/a+json"


def test_a_base_path_is_put_before_every_path() -> None:
    with FakeApi(ok) as api:
        api.client(base_path="/k8s/clusters/c-1/").request("GET", "/version")

    assert api.exchanges[0].path == "/k8s/clusters/c-1/version"


def test_without_credentials_no_authorization_header_is_sent() -> None:
    with FakeApi(ok) as api:
        api.client(authorization=lambda: None).request("GET", "/version")

    assert "authorization" not in api.exchanges[0].headers


def test_requests_one_after_the_other_share_a_connection_also_after_errors() -> None:
    with FakeApi(in_order(ok, lambda exchange: exchange.refuse(404), ok)) as api:
        client = api.client()
        client.request("GET", "/a")
        with pytest.raises(ApiError):
            client.request("GET", "/b")
        client.request("GET", "/c")

    assert api.connections == 1


def test_an_error_says_what_was_asked_what_was_answered_and_why() -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(409, "pod web-1\nis gone", "Conflict")) as api,
        pytest.raises(ApiError) as caught,
    ):
        api.client().request("POST", "/api/v1/pods")

    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    assert str(caught.value) == (
        f"API server 127.0.0.1:{api.port} answered 409 to POST /api/v1/pods: pod web-1 is gone"
    )


@pytest.mark.parametrize(("status", "step"), [(401, "credentials"), (403, "RBAC")])
def test_a_refusal_of_rights_names_the_next_step(status: int, step: str) -> None:
    with FakeApi(lambda exchange: exchange.refuse(status)) as api, pytest.raises(ApiError, match=step):
        api.client().request("GET", "/api/v1/pods")


def test_what_a_namespace_that_ends_refuses_is_no_matter_of_rights() -> None:
    status = {"message": "forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}

    with (
        FakeApi(lambda exchange: exchange.reply(403, status)) as api,
        pytest.raises(ApiError, match="forbidden; wait until the namespace is gone") as caught,
    ):
        api.client().request("POST", "/api/v1/namespaces/x/pods")

    assert "RBAC" not in str(caught.value)


def test_an_error_that_is_no_status_keeps_its_text() -> None:
    with (
        FakeApi(lambda exchange: exchange.reply(502, b"<h1>bad gateway</h1>")) as api,
        pytest.raises(ApiError, match="bad gateway") as caught,
    ):
        api.client().request("GET", "/version")

    assert caught.value.status == 502


def test_credentials_never_appear_in_an_error() -> None:
    with FakeApi(lambda exchange: exchange.refuse(401)) as api, pytest.raises(ApiError) as caught:
        api.client().request("GET", "/version")

    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None)])
def test_too_many_requests_says_when_to_come_back(header: str, seconds: float | None) -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(429, Retry_After=header)) as api,
        pytest.raises(ThrottledError) as caught,
    ):
        api.client().request("GET", "/version")

    assert (caught.value.status, caught.value.retry_after) == (429, seconds)


def test_nothing_is_retried() -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(503, Retry_After="1")) as api,
        pytest.raises(ThrottledError),
    ):
        api.client().request("PUT", "/lease", body=b"{}")

    assert len(api.exchanges) == 1


def test_a_refused_connection_names_the_address_and_what_to_check() -> None:
    port = closed_port()

    with pytest.raises(Unreachable) as caught:
        client_for(port).request("GET", "/version")

    assert str(caught.value) == (
        f"API server 127.0.0.1:{port}: no connection (Connection refused); check the address and that it runs"
    )


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(Unreachable, match="can't be resolved"):
        client_for(443, host="no-such-host.invalid").request("GET", "/version")


def test_a_server_of_another_authority_is_not_trusted() -> None:
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trustme.CA().configure_trust(stranger)

    with (
        FakeApi(ok) as api,
        pytest.raises(Unreachable, match=r"TLS failed \(.*certificate.*check the certificate authority"),
    ):
        client_for(api.port, stranger).request("GET", "/version")

    assert api.exchanges == []


def test_silence_ends_at_the_timeout() -> None:
    with FakeApi(Exchange.hang) as api, pytest.raises(Unreachable, match="no answer in time"):
        api.client().request("GET", "/version", timeout=0.05)


def test_a_body_that_drips_ends_at_the_timeout() -> None:
    def drip(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            exchange.raw(b"x")
            time.sleep(0.01)

    with FakeApi(drip) as api, pytest.raises(Unreachable, match="no answer in time"):
        api.client().request("GET", "/version", timeout=0.2)


def test_an_answer_that_is_cut_off_is_no_answer() -> None:
    def half(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        exchange.cut()

    with FakeApi(half) as api, pytest.raises(Unreachable, match="the connection broke"):
        api.client().request("GET", "/version")


def test_pages_follow_the_continue_token_to_the_end() -> None:
    pages = [
        {"metadata": {"resourceVersion": "5", "continue": "next"}, "items": [1]},
        {"metadata": {"resourceVersion": "5"}, "items": [2]},
    ]
    with FakeApi(in_order(*(lambda exchange, page=page: exchange.reply(200, page) for page in pages))) as api:
        got = list(api.client().pages("/api/v1/pods", query=[("fieldSelector", "a=b")], limit=1))

    assert len(got) == 2
    assert [exchange.query for exchange in api.exchanges] == [
        {"fieldSelector": "a=b", "limit": "1"},
        {"fieldSelector": "a=b", "limit": "1", "continue": "next"},
    ]


def test_a_list_that_is_no_json_is_told_as_a_wrong_server() -> None:
    with (
        FakeApi(lambda exchange: exchange.reply(200, b"<html>")) as api,
        pytest.raises(Unreachable, match="no list"),
    ):
        list(api.client().pages("/api/v1/pods"))


def test_a_stream_yields_its_lines_however_they_are_cut_into_chunks() -> None:
    def stream(exchange: Exchange) -> None:
        exchange.open_stream()
        for chunk in (b"one\ntw", b"o\n", b"three\n"):
            exchange.chunk(chunk)
        exchange.end_stream()

    with FakeApi(stream) as api, api.client().stream("/w", read_timeout=5) as lines:
        assert list(lines) == [b"one", b"two", b"three"]


def test_a_last_line_without_its_end_is_dropped() -> None:
    def stream(exchange: Exchange) -> None:
        exchange.open_stream()
        exchange.chunk(b'whole\n{"type":"ADD')
        exchange.end_stream()

    with FakeApi(stream) as api, api.client().stream("/w", read_timeout=5) as lines:
        assert list(lines) == [b"whole"]


def test_a_stream_that_breaks_says_so_after_its_whole_lines() -> None:
    def stream(exchange: Exchange) -> None:
        exchange.open_stream()
        exchange.chunk(b"whole\nhal")
        exchange.cut()

    with FakeApi(stream) as api, api.client().stream("/w", read_timeout=5) as lines:
        assert next(lines) == b"whole"
        with pytest.raises(Unreachable):
            next(lines)


def test_a_silent_stream_ends_at_its_read_timeout() -> None:
    def stream(exchange: Exchange) -> None:
        exchange.open_stream()
        exchange.hang()

    with (
        FakeApi(stream) as api,
        api.client().stream("/w", read_timeout=0.05) as lines,
        pytest.raises(Unreachable, match="no answer in time"),
    ):
        list(lines)


def test_a_refused_stream_raises_before_any_line() -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(410, reason="Expired")) as api,
        pytest.raises(ApiError) as caught,
        api.client().stream("/w", read_timeout=5),
    ):
        pass

    assert caught.value.status == 410


@pytest.mark.parametrize("headers", [b"", b"Connection: close\r\n"])
def test_closing_the_client_ends_a_stream_that_waits(headers: bytes) -> None:
    def stream(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + headers + b"\r\n")
        exchange.chunk(b"one\n")
        exchange.hang()

    with FakeApi(stream) as api:
        client = api.client()
        with client.stream("/w", read_timeout=60) as lines:
            assert next(lines) == b"one"
            threading.Timer(0.05, client.close).start()
            with pytest.raises(Unreachable):
                next(lines)


def test_a_client_apart_is_closed_apart() -> None:
    with FakeApi(ok) as api:
        client = api.client()
        client.apart().close()
        client.request("GET", "/version")

        other = client.apart()
        client.close()
        other.request("GET", "/version")
        other.close()


def test_streams_leave_no_connection_behind() -> None:
    def stream(exchange: Exchange) -> None:
        exchange.open_stream()
        exchange.chunk(b"one\n")
        exchange.hang()

    with FakeApi(stream) as api:
        client = api.client()
        before = open_files()
        for _ in range(20):
            with client.stream("/w", read_timeout=5) as lines:
                assert next(lines) == b"one"
        api.wait_for(lambda exchanges: len(exchanges) == 20)

        # Both ends are in this process: the server's close with ours, a moment later.
        eventually(lambda: open_files() <= before, "the connections are closed")


def test_closing_the_client_ends_a_request_that_waits() -> None:
    with FakeApi(Exchange.hang) as api:
        client = api.client()
        outcome: list[Exception] = []

        def ask() -> None:
            try:
                client.request("GET", "/version", timeout=60)
            except ClusterError as error:
                outcome.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        client.close()
        asking.join(5)

        assert not asking.is_alive()
        assert isinstance(outcome[0], Unreachable)


def test_a_closed_client_asks_nothing_more() -> None:
    with FakeApi(ok) as api:
        client = api.client()
        client.close()

        with pytest.raises(Unreachable, match="stopping"):
            client.request("GET", "/version")
    assert api.exchanges == []
