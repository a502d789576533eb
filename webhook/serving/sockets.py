"""Listening sockets, opened before anything else so that a taken port is told at once."""

from __future__ import annotations

import errno
import socket

from webhook.errors import ConfigurationError

__all__ = ["address_of", "listen"]

# gunicorn's own default; the kernel caps it at net.core.somaxconn.
_BACKLOG = 2048


def listen(host: str, port: int, *, option: str) -> socket.socket:
    """Return a socket that listens on this address; port 0 takes a free one, host `::` both IP versions.

    Raises ConfigurationError that names the address and, as the way out, the command line's `option` for it.
    """
    where = _shown(host, port)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listener = socket.create_server(
            (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=host == "::"
        )
    except socket.gaierror:
        raise ConfigurationError(
            f"can't listen on {where}: this host is not known; give an address of this machine, such as 0.0.0.0"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"can't listen on {where}: {_remedy(error, port, option)}") from None
    # Accepted sockets inherit it. Without it, an answer of two segments waits for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return host:port of a listening socket, as it goes into a URL."""
    host, port = listener.getsockname()[:2]
    return _shown(host, port)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _remedy(error: OSError, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"another process has this port; stop it (`ss -ltnp 'sport = :{port}'` shows which), "
            f"or take another one with {option}"
        )
    if error.errno == errno.EACCES:
        return f"ports below 1024 need privileges; take a higher one with {option}"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address; give one that `ip addr` shows, or 0.0.0.0 for all of them"
    return f"{error.strerror}; try another address or {option}"
