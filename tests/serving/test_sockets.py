from __future__ import annotations

import socket

import pytest

from webhook.errors import ConfigurationError
from webhook.serving.sockets import address_of, listen


def test_a_free_port_is_taken_for_port_0() -> None:
    with listen("127.0.0.1", 0, option="--port") as listener:
        host, port = listener.getsockname()

        assert address_of(listener) == f"{host}:{port}"
        socket.create_connection((host, port)).close()


def test_answers_are_sent_without_nagles_delay() -> None:
    with (
        listen("127.0.0.1", 0, option="--port") as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with listen("127.0.0.1", 0, option="--port") as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ConfigurationError) as caught:
            listen("127.0.0.1", port, option="--ops-port")

    assert str(caught.value) == (
        f"can't listen on 127.0.0.1:{port}: another process has this port; "
        f"stop it (`ss -ltnp 'sport = :{port}'` shows which), or take another one with --ops-port"
    )


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"192\.0\.2\.1:8443: this machine has no such address"):
        listen("192.0.2.1", 8443, option="--port")  # TEST-NET-1, RFC 5737


def test_a_host_that_is_not_known_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"no-such-host.invalid:8443: this host is not known"):
        listen("no-such-host.invalid", 8443, option="--port")


def test_ipv6_is_shown_as_in_a_url() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with listen("::", 0, option="--port") as listener:
        port = listener.getsockname()[1]

        assert address_of(listener) == f"[::]:{port}"
        socket.create_connection(("127.0.0.1", port)).close()
