"""A service in gunicorn: from listening sockets to the exit code."""

from __future__ import annotations

import gc
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, ClassVar

from gunicorn.app.base import BaseApplication
from gunicorn.workers.gthread import ThreadWorker

from webhook.errors import CustomSchedulerError
from webhook.serving.arbiter import DrainingArbiter
from webhook.serving.boot import EXIT_BUG, EXIT_UNUSABLE, BootReport
from webhook.serving.config import Config
from webhook.serving.draining import Draining
from webhook.serving.hosting import HostedService
from webhook.serving.options import ServingOptions
from webhook.serving.reports import WorkerReports
from webhook.serving.service import MakeService
from webhook.serving.sockets import address_of, listen
from webhook.serving.tls import HttpContexts
from webhook.serving.worker import TlsThreadWorker

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication
    from gunicorn.arbiter import Arbiter
    from gunicorn.http import Request
    from gunicorn.workers.base import Worker

__all__ = ["serve"]

log = logging.getLogger("custom_scheduler.serving")


def serve(
    options: ServingOptions,
    make_service: MakeService,
    *,
    on_worker_exit: Callable[[int], object] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code: 0, or 3 for a bug that the log explains.

    `make_service` is called in each worker process; `on_worker_exit` in this one, with the process id of a
    worker that has ended. No thread may run here when this is called, as the workers are forked.

    Raises ConfigurationError where an address can't be listened on, and CustomSchedulerError where a worker's
    service could not be made or started, with the text of its own error.
    """
    with (
        listen(options.host, options.port, option="--port") as listener,
        listen(options.ops_host, options.ops_port, option="--ops-port") as ops_listener,
        closing(BootReport()) as boot_report,
        closing(WorkerReports()) as reports,
    ):
        application = Application(
            options,
            make_service,
            ops_listener=ops_listener,
            boot_report=boot_report,
            reports=reports,
            on_worker_exit=on_worker_exit,
        )
        return application.run_on(listener)


class Application(BaseApplication):
    """What gunicorn asks for: its configuration and hooks, and in each worker the service."""

    worker_class: ClassVar[type[ThreadWorker]] = TlsThreadWorker

    def __init__(
        self,
        options: ServingOptions,
        make_service: MakeService,
        *,
        ops_listener: socket.socket,
        boot_report: BootReport,
        reports: WorkerReports,
        on_worker_exit: Callable[[int], object] | None,
    ) -> None:
        self._options = options
        self._make_service = make_service
        self._ops_listener = ops_listener
        self._boot_report = boot_report
        self._reports = reports
        self._on_worker_exit = on_worker_exit
        self._draining = Draining()
        self._contexts = HttpContexts()
        self._hosted: HostedService | None = None  # in the master always
        super().__init__()

    def load_default_config(self) -> None:
        """Build gunicorn's configuration from the options."""
        self.cfg = Config(self._options)

    def load_config(self) -> None:
        """Add what needs this object: the worker and the hooks."""
        self.cfg.set("worker_class", self.worker_class)
        self.cfg.set("ssl_context", self._ssl_context)
        self.cfg.set("post_worker_init", self._start_service)
        self.cfg.set("pre_request", self._say_close_while_draining)
        self.cfg.set("worker_exit", self._stop_service)
        self.cfg.set("child_exit", self._after_worker_exit)

    def run_on(self, listener: socket.socket) -> int:
        """Run the master until it is stopped; return the exit code or raise as `serve` does."""
        arbiter = DrainingArbiter(
            self,
            listener=listener,
            draining=self._draining,
            drain_seconds=self._options.drain_seconds,
            boot_report=self._boot_report,
        )
        log.info(
            "serving on https://%s, operations on http://%s",
            address_of(listener),
            address_of(self._ops_listener),
        )
        status: object = 0
        # What is there now stays, so collections need not look at it, nor mark it, which would copy each page that
        # the workers share.
        gc.collect()
        gc.freeze()
        try:
            arbiter.run()
        except SystemExit as end:
            status = end.code
        failure = arbiter.failure
        if failure is None:
            log.info("stopped")
            return EXIT_BUG if status else 0
        if failure.exit_code == EXIT_UNUSABLE:
            raise CustomSchedulerError(failure.text)
        log.error("stopped, as a worker could not start: %s", failure.text)
        return failure.exit_code

    def load(self) -> WSGIApplication:  # type: ignore[override]  # gunicorn's stubs spell WSGI otherwise
        """Make the service; gunicorn calls this in each new worker."""
        with self._boot_report.told():
            self._hosted = HostedService(
                self._make_service(),
                ops_listener=self._ops_listener,
                draining=self._draining,
                reports=self._reports,
                component=self._options.component,
            )
        return self._hosted.service.app

    def _start_service(self, _worker: Worker) -> None:
        assert self._hosted is not None
        with self._boot_report.told():
            self._hosted.start()

    def _stop_service(self, _arbiter: Arbiter, _worker: Worker) -> None:
        # gunicorn also calls this in the master, for a worker that it finds dead already.
        if self._hosted is not None:
            self._hosted.stop()

    def _after_worker_exit(self, _arbiter: Arbiter, worker: Worker) -> None:
        if self._on_worker_exit is not None:
            self._on_worker_exit(int(worker.pid))

    def _ssl_context(self, _config: object, _default: object) -> ssl.SSLContext:
        assert self._hosted is not None
        return self._contexts.prepared(self._hosted.service.ssl_context())

    def _say_close_while_draining(self, _worker: Worker, request: Request) -> None:
        # The API server goes on using its open connections to a pod that has left the endpoints
        # (kubernetes/kubernetes#127335).
        if self._draining.is_set():
            request.force_close()
