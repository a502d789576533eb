from __future__ import annotations

import socket

import pytest
from gunicorn.http import RequestParser

from tests.manifests.test_manifests import VARIANTS, entries
from tests.serving.conftest import DEFAULT
from webhook.serving.config import Config
from webhook.serving.options import ServingOptions

# k8s.io/apimachinery pkg/util/net/http.go, SetTransportDefaults; Go's http.DefaultTransport has the same
API_SERVER_IDLE_SECONDS = 90


def test_a_setting_can_be_changed_after_it_was_read() -> None:
    config = Config(DEFAULT)
    before = config.graceful_timeout

    config.set("graceful_timeout", before + 1)

    assert config.graceful_timeout == before + 1


def test_a_setting_that_gunicorn_does_not_have_is_an_error() -> None:
    with pytest.raises(AttributeError, match="taste"):
        _ = Config(DEFAULT).taste


def test_no_header_says_how_a_request_came_or_where_to() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(
            b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
            b"X-Forwarded-Proto: http\r\nX-Forwarded-Ssl: off\r\nSCRIPT_NAME: /validate\r\nPATH_INFO: /mutate\r\n\r\n"
        )
        request = next(RequestParser(Config(DEFAULT), ours, ("127.0.0.1", 4)))

    assert request.scheme == "https"
    assert {"SCRIPT_NAME", "PATH_INFO"}.isdisjoint(name for name, _ in request.headers)


def test_it_is_the_api_server_that_closes_an_idle_connection() -> None:
    assert Config(ServingOptions()).keepalive >= API_SERVER_IDLE_SECONDS + 10


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_api_server_gives_up_on_a_call_before_the_server_does(variant: str) -> None:
    longest = max(entry["timeoutSeconds"] for entry in entries(variant))

    assert Config(ServingOptions()).request_deadline_seconds > longest
