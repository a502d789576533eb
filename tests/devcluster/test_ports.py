from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from devcluster.ports import ReservedPort, free_port


@pytest.fixture
def port() -> Iterator[ReservedPort]:
    port = ReservedPort()
    yield port
    port.close()


def test_nobody_else_gets_a_reserved_port(port: ReservedPort) -> None:
    with pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", port.number))


def test_connections_to_a_reserved_port_are_refused(port: ReservedPort) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port.number), timeout=5)


def test_a_server_that_shares_the_port_gets_every_connection(port: ReservedPort) -> None:
    with socket.create_server(("127.0.0.1", port.number), reuse_port=True) as server:
        server.settimeout(5)
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port.number), timeout=5), server.accept()[0]:
                pass


def test_many_reserved_ports_are_all_different() -> None:
    ports = [ReservedPort() for _ in range(200)]

    assert len({port.number for port in ports}) == 200

    for port in ports:
        port.close()


def test_a_free_port_can_be_bound() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        assert server.getsockname()[1] > 0


def test_no_free_port_is_returned_twice() -> None:
    assert len({free_port() for _ in range(300)}) == 300
