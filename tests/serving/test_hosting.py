from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import chain, repeat

import pytest
from flask import Flask

from tests.serving.test_reports import Worker
from tests.waiting import eventually
from webhook.serving.draining import Draining
from webhook.serving.hosting import HostedService
from webhook.serving.reports import WorkerReports


class Service:
    """Says one thing after the other of its readiness, and stays with the last."""

    app = Flask("nothing")

    def __init__(self, *answers: list[str]) -> None:
        self._answers = chain(answers, repeat(answers[-1]))

    def ssl_context(self) -> ssl.SSLContext:
        raise NotImplementedError

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def not_ready(self) -> list[str]:
        return next(self._answers)

    def metrics(self) -> bytes:
        return b""


@pytest.fixture
def reports() -> Iterator[WorkerReports]:
    with closing(WorkerReports()) as reports:
        yield reports


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def hosted(listener: socket.socket, reports: WorkerReports, *answers: list[str]) -> HostedService:
    return HostedService(
        Service(*answers), ops_listener=listener, draining=Draining(), reports=reports, component="webhook"
    )


def readyz(port: int) -> tuple[int, str]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        client.request("GET", "/readyz")
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


@pytest.mark.parametrize(
    ("told", "status", "text"),
    [([], 200, "ok\n"), (["no policy"], 503, "another worker (process {}) is not ready: no policy\n")],
)
def test_a_worker_that_starts_answers_for_those_that_accept_calls(
    listener: socket.socket, reports: WorkerReports, told: list[str], status: int, text: str
) -> None:
    with (
        closing(Worker(lambda: reports.tell(told))) as other,
        ExitStack() as stack,
    ):
        stack.callback(hosted(listener, reports, []).stop)

        assert readyz(listener.getsockname()[1]) == (status, text.format(other.pid))


def test_the_others_learn_of_a_change_where_nobody_asks(
    listener: socket.socket, reports: WorkerReports
) -> None:
    with closing(Worker(lambda: hosted(listener, reports, [], ["no policy"]).start())) as worker:
        assert reports.of_others() == {worker.pid: []}

        eventually(lambda: reports.of_others() == {worker.pid: ["no policy"]}, "the report")


def test_a_worker_that_stops_counts_no_more(listener: socket.socket, reports: WorkerReports) -> None:
    def start_and_stop() -> None:
        service = hosted(listener, reports, ["no policy"])
        service.start()
        service.stop()

    with closing(Worker(start_and_stop)):
        assert reports.of_others() == {}
