"""What `serve` serves: the seam between this package and what stands above it."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

__all__ = ["Certificates", "MakeService", "Service"]


class Certificates(Protocol):
    """Where a worker's TLS context comes from."""

    def start(self) -> None:
        """Begin to keep the certificate, and its registration, up to date."""

    def stop(self) -> None:
        """End what `start` began."""

    def context(self) -> ssl.SSLContext:
        """Return the context that new handshakes use."""

    def not_ready(self) -> list[str]:
        """Return why calls would fail; nothing when they would not."""


class Service(Protocol):
    """One worker process' share of the work.

    It is made after the fork, in the process that it lives in: threads, locks and connections of the master
    would not survive the fork. `serve` calls `start` once and then, if it was called at all, `stop` once.
    """

    @property
    def app(self) -> WSGIApplication:
        """The application; many threads call it at once."""

    def ssl_context(self) -> ssl.SSLContext:
        """Return the context for the next handshake. Called for each connection, from many threads.

        To change the certificate, return another context from then on; never change one that was returned
        (certs/context.py has the reason). Connections that are open keep theirs.
        """

    def start(self) -> None:
        """Start threads; the worker accepts connections once this returns.

        A CustomSchedulerError ends the whole server and reaches the person who started it as one line; any
        other exception ends it too, with a traceback in the log.
        """

    def stop(self) -> None:
        """End what `start` began, within a few seconds, also where `start` raised halfway."""

    def not_ready(self) -> list[str]:
        """Return why no calls should come here, a line each; nothing where they should. Must not block."""

    def metrics(self) -> bytes:
        """Return the metrics of all workers in Prometheus' text format, version 0.0.4."""


MakeService = Callable[[], Service]
