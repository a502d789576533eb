"""A Service on this host: one port before several replicas, of which the ready ones get the new connections."""

from __future__ import annotations

import itertools
import socket
import threading
from contextlib import suppress

__all__ = ["Service"]

_CHUNK = 65_536


class Service:
    """Hands each new connection to one of `backends` in turn, as kube-proxy does.

    A connection that is there stays where it is, also where its backend is taken out.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.backends: tuple[int, ...] = ()
        """The ports of the replicas that are ready."""
        self._turns = itertools.count()
        self._connections: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        # A close alone wakes nobody who waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for connection in tuple(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            backends = self.backends
            try:
                port = backends[next(self._turns) % len(backends)]
                server = socket.create_connection(("127.0.0.1", port), timeout=5)
            except (OSError, ZeroDivisionError):
                client.close()
                continue
            server.settimeout(None)
            thread = threading.Thread(target=self._forward, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        pair = {client, server}
        self._connections |= pair
        back = threading.Thread(target=_copy, args=(server, client))
        back.start()
        _copy(client, server)
        back.join()
        self._connections -= pair
        for connection in pair:
            connection.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
