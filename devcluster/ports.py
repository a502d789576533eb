"""Loopback ports that stay ours from before a server starts until after its last restart."""

from __future__ import annotations

import random
import socket

__all__ = ["ReservedPort", "free_port"]

# Linux' ip_local_port_range begins at 32768 (Documentation/networking/ip-sysctl.rst).
_NEVER_GIVEN_TO_CONNECTIONS = (15_000, 30_000)
_returned: set[int] = set()


class ReservedPort:
    """A free TCP port of 127.0.0.1, kept by a socket that is bound to it and never listens.

    Nobody else gets the port, and a connection to it is refused, until a server of the same user binds it with
    SO_REUSEPORT, which Kubernetes' servers do under `--permit-port-sharing`. So there is no moment at which
    another program can take it, and no retry.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Give the port up."""
        self._socket.close()


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now, for a server that can't share one; another program may be faster.

    Not one of those that the kernel gives to connections: any connection of this machine could take it meanwhile. Nor one
    that was returned before.
    """
    while True:
        number = random.SystemRandom().randrange(*_NEVER_GIVEN_TO_CONNECTIONS)
        if number in _returned:
            continue
        try:
            socket.create_server(("127.0.0.1", number)).close()
        except OSError:
            continue
        _returned.add(number)
        return number
