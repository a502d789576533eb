"""A service at home in its worker process: made, started, shown on the ops port, stopped."""

from __future__ import annotations

import socket

from webhook.serving.draining import Draining
from webhook.serving.ops import OpsServer
from webhook.serving.service import Service

__all__ = ["HostedService"]


class HostedService:
    """Owns a service and its ops port, which answers from here on: a probe must not fail while `start` waits."""

    def __init__(
        self, service: Service, *, ops_listener: socket.socket, draining: Draining, component: str
    ) -> None:
        self.service = service
        self._draining = draining
        self._start_called = False
        self._started = False
        self._ops = OpsServer(
            ops_listener, not_ready=self._not_ready, metrics=service.metrics, component=component
        )
        self._ops.start()

    def start(self) -> None:
        """Start the service; raises what it raises."""
        self._start_called = True
        self.service.start()
        self._started = True

    def stop(self) -> None:
        """Stop the service if its start was tried, and then the ops port."""
        try:
            if self._start_called:
                self.service.stop()
        finally:
            self._ops.close()

    def _not_ready(self) -> list[str]:
        if not self._started:
            return ["starting"]
        draining = ["draining before the stop"] if self._draining.is_set() else []
        return draining + self.service.not_ready()
