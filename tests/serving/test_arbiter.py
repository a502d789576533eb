from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.serving.clients import everything, half_a_body, half_a_head, held
from tests.serving.conftest import Start
from tests.serving.server import Server
from tests.waiting import eventually
from webhook.serving.options import ServingOptions

DRAIN_SECONDS = 3.0
"""Long enough to be answered in the meantime on a busy machine too."""


def is_draining(server: Server) -> bool:
    return server.ops("/readyz") == (503, "draining before the stop\n")


def test_a_drain_fails_readiness_and_goes_on_answering_and_then_the_server_stops(start: Start) -> None:
    server = start(drain_seconds=DRAIN_SECONDS)
    kept = server.http()
    kept.request("GET", "/")
    kept.getresponse().read()

    began = time.monotonic()
    server.signal(signal.SIGTERM)
    eventually(lambda: is_draining(server), "unready")
    answers = []
    for client in (kept, server.http()):
        client.request("GET", "/")
        answer = client.getresponse()
        answers.append((answer.read(), answer.getheader("Connection")))
        client.close()
    health = server.ops("/healthz")
    code = server.exit_code()

    assert answers == [(b"ok", "close")] * 2
    assert health == (200, "ok\n")
    assert code == 0
    assert time.monotonic() - began >= DRAIN_SECONDS
    server.await_log("service stopped")


def test_no_drain_is_a_stop_right_away(start: Start) -> None:
    server = start(drain_seconds=0)

    assert server.seconds_to_stop() < ServingOptions().drain_seconds


def test_requests_under_way_are_answered_while_new_clients_are_refused(start: Start) -> None:
    server = start(drain_seconds=0)

    with held(server, half_a_body, 1) as (body,), held(server, half_a_head, 1) as (head,):
        server.signal(signal.SIGTERM)
        eventually(server.refuses, "the port is closed")
        body.sendall(b"67890")
        head.sendall(b"Host: x\r\nContent-Length: 0\r\n\r\n")

        assert everything(body).endswith(b"10")
        assert b"\r\nConnection: close\r\n" in everything(head)

    assert server.exit_code() == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_second_signal_ends_the_drain_at_once(start: Start, second: signal.Signals) -> None:
    server = start(drain_seconds=60)

    server.signal(signal.SIGINT)
    eventually(lambda: is_draining(server), "unready")
    server.signal(second)

    assert server.exit_code() == 0
    server.await_log("service stopped")


def test_a_second_signal_ends_the_wait_for_requests_at_once(start: Start) -> None:
    server = start(drain_seconds=0, graceful_seconds=60, request_deadline_seconds=60)

    with held(server, half_a_body, 1):
        server.signal(signal.SIGTERM)
        eventually(server.refuses, "the port is closed")
        server.signal(signal.SIGTERM)

        assert server.exit_code() == 0


def test_a_second_signal_does_not_wait_for_a_service_that_hangs(start: Start) -> None:
    server = start(drain_seconds=60, graceful_seconds=60, fault="waits at stop")

    server.signal(signal.SIGTERM)
    eventually(lambda: is_draining(server), "unready")
    server.signal(signal.SIGTERM)

    assert server.exit_code() == 0


def test_ctrl_c_in_a_terminal_which_reaches_the_workers_too_drains(start: Start) -> None:
    server = start(drain_seconds=60)
    worker = server.get("/pid")

    os.killpg(server.process.pid, signal.SIGINT)
    eventually(lambda: is_draining(server), "unready")

    assert server.get("/pid") == worker


def test_workers_do_not_outlive_a_master_that_is_killed(start: Start) -> None:
    server = start(workers=2)
    eventually(lambda: sum("service started" in line for line in server.log) == 2, "both workers start")

    server.process.kill()

    eventually(lambda: sum("service stopped" in line for line in server.log) == 2, "both workers stop")


def replaced(server: Server, worker: str) -> Callable[[], bool]:
    def is_replaced() -> bool:
        try:
            return server.get("/pid") != worker
        except OSError:
            return False

    return is_replaced


def test_a_worker_that_is_killed_is_replaced_and_its_end_is_told(start: Start) -> None:
    server = start()
    worker = server.get("/pid")

    os.kill(int(worker), signal.SIGKILL)

    eventually(replaced(server, worker), "another worker answers")
    assert server.logged(f"worker {worker} ended")


def test_sighup_replaces_the_workers(start: Start) -> None:
    server = start()
    worker = server.get("/pid")

    server.signal(signal.SIGHUP)

    eventually(replaced(server, worker), "another worker answers")
    server.await_log(f"worker {worker} ended")
    assert server.ops("/readyz") == (200, "ok\n")


def test_an_upgrade_in_place_is_refused(start: Start) -> None:
    server = start()

    server.signal(signal.SIGUSR2)

    server.await_log("SIGUSR2 is ignored")
    assert server.get() == "ok"
