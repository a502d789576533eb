"""A service at home in its worker process: made, started, shown on the ops port, stopped."""

from __future__ import annotations

import socket

from webhook.periodic import PeriodicThread
from webhook.serving.draining import Draining
from webhook.serving.ops import OpsServer
from webhook.serving.readiness import DRAINING, STARTING, STOPPING
from webhook.serving.reports import WorkerReports
from webhook.serving.service import Service

__all__ = ["HostedService"]

_REPORT_SECONDS = 1.0


class HostedService:
    """Owns a service and its ops port, which answers from here on: a probe must not fail while `start` waits.

    The port says ready where every worker that accepts calls is. One that starts gets none yet, so it keeps none from
    the others.
    """

    def __init__(
        self,
        service: Service,
        *,
        ops_listener: socket.socket,
        draining: Draining,
        reports: WorkerReports,
        component: str,
    ) -> None:
        self.service = service
        self._draining = draining
        self._reports = reports
        self._start_called = False
        self._absent = STARTING
        # The others learn of it also where nobody asks this worker.
        self._reporting = PeriodicThread("readiness", self._report, seconds=_REPORT_SECONDS)
        self._ops = OpsServer(
            ops_listener, not_ready=self._not_ready, metrics=service.metrics, component=component
        )
        self._ops.start()

    def start(self) -> None:
        """Start the service; raises what it raises."""
        self._start_called = True
        self.service.start()
        self._report()
        self._absent = ""
        self._reporting.start()

    def stop(self) -> None:
        """Stop the service if its start was tried, and then the ops port."""
        try:
            if not self._absent:
                self._absent = STOPPING
                self._reporting.stop()
                self._reports.withdraw()
            if self._start_called:
                self.service.stop()
        finally:
            self._ops.close()

    def _report(self) -> list[str]:
        reasons = self.service.not_ready()
        self._reports.tell(reasons)
        return reasons

    def _not_ready(self) -> list[str]:
        reasons = [DRAINING] if self._draining.is_set() else []
        others = self._reports.of_others()
        if not self._absent:
            reasons += self._report()
        elif not others:
            reasons.append(self._absent)
        return reasons + [
            f"another worker (process {process}) is not ready: {reason}"
            for process, told in others.items()
            for reason in told
        ]
