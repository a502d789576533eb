"""The server under test, as a process of its own: `python -m tests.serving.program SCENARIO`."""

from __future__ import annotations

import gc
import logging
import os
import resource
import ssl
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from flask import Flask, request
from gunicorn.workers.gthread import ThreadWorker
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from webhook.errors import ConfigurationError, CustomSchedulerError
from webhook.serving import worker
from webhook.serving.application import Application, serve
from webhook.serving.options import ServingOptions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("program")

MAX_BODY_BYTES = 8 << 20


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be served, and how."""

    options: ServingOptions
    pairs: list[str]
    """PEM files, each a key and its chain; POST /swap goes on to the next."""
    worker: Literal["ours", "stock"] = "ours"
    fault: Literal[
        "", "refuses to be made", "refuses to start", "crashes at start", "waits at start", "waits at stop"
    ] = ""
    reasons: list[str] = []
    """What not_ready says, and POST /reasons changes in one worker."""
    open_files: int = 1024
    spare_files: int | None = None
    """How many more files the worker may open once it has started; no limit but `open_files` where not given."""
    stay_seconds: float | None = None
    """How long a thread stays with a connection after an answer; the worker's own choice where not given."""


class EchoService:
    """Answers with what it got, and tells of itself in the log."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._reasons = scenario.reasons
        self._pairs = iter(scenario.pairs)
        self._context = self._next_context()
        self.app = app = Flask("echo")
        # Werkzeug cuts a chunked body at this length without an error, so it is one more than what is allowed.
        app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES + 1
        app.add_url_rule("/", "ok", lambda: "ok")
        app.add_url_rule("/pid", "pid", lambda: str(os.getpid()))
        app.add_url_rule("/frozen", "frozen", lambda: str(gc.get_freeze_count()))
        app.add_url_rule("/thread", "thread", lambda: str(threading.get_ident()))
        app.add_url_rule("/echo", "echo", self._echo, methods=["POST"])
        app.add_url_rule("/reasons", "reasons", self._take_reasons, methods=["POST"])
        app.add_url_rule("/swap", "swap", self._swap, methods=["POST"])
        self.app.wsgi_app = self._crashing(self.app.wsgi_app)  # type: ignore[assignment]  # as Flask advises
        if scenario.fault == "refuses to be made":
            raise ConfigurationError("the pear is not ripe: wait a week")

    def _next_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(next(self._pairs))
        return context

    @staticmethod
    def _crashing(app: WSGIApplication) -> WSGIApplication:
        """Crash on one path where Flask doesn't see it."""

        def crashing(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            if environ["PATH_INFO"] == "/crash":
                raise ZeroDivisionError("a bug")
            return app(environ, start_response)

        return crashing

    def _echo(self) -> str:
        try:
            body = request.get_data()
        except ClientDisconnected:
            log.info("a body was cut off")
            raise
        if len(body) > MAX_BODY_BYTES:
            raise RequestEntityTooLarge
        return str(len(body))

    def _take_reasons(self) -> str:
        self._reasons = request.get_data(as_text=True).splitlines()
        return str(os.getpid())

    def _swap(self) -> str:
        self._context = self._next_context()
        return "swapped"

    def ssl_context(self) -> ssl.SSLContext:
        return self._context

    def start(self) -> None:
        log.info("service started")
        if self._scenario.spare_files is not None:
            most = len(list(Path("/proc/self/fd").iterdir())) + self._scenario.spare_files
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if self._scenario.fault == "refuses to start":
            raise CustomSchedulerError("the apple is gone: buy one")
        if self._scenario.fault == "crashes at start":
            raise ZeroDivisionError("a bug")
        if self._scenario.fault == "waits at start":
            threading.Event().wait()

    def stop(self) -> None:
        if self._scenario.fault == "waits at stop":
            threading.Event().wait()
        log.info("service stopped")

    def not_ready(self) -> list[str]:
        return self._reasons

    def metrics(self) -> bytes:
        return f"served_by {os.getpid()}\n".encode()


def main() -> int:
    """Serve the scenario; what a person would be told goes to standard output."""
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(levelname)s %(name)s: %(message)s")
    scenario = msgspec.json.decode(sys.argv[1], type=Scenario)
    resource.setrlimit(resource.RLIMIT_NOFILE, (scenario.open_files, scenario.open_files))
    if scenario.stay_seconds is not None:
        worker._STAY_SECONDS = scenario.stay_seconds
    if scenario.worker == "stock":
        Application.worker_class = ThreadWorker

    try:
        return serve(
            scenario.options,
            lambda: EchoService(scenario),
            on_worker_exit=lambda pid: log.info("worker %d ended", pid),
        )
    except CustomSchedulerError as error:
        print(error)
        return 2
    finally:
        log.info("back in main")  # by the master alone


if __name__ == "__main__":
    sys.exit(main())
