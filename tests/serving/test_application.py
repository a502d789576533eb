from __future__ import annotations

import os
import signal
import socket
import ssl
from contextlib import ExitStack

import pytest

from tests.serving.conftest import LOCAL, Start
from tests.serving.program import Scenario
from tests.serving.server import Authority, Server, launched
from tests.suspended import suspended
from tests.waiting import eventually
from webhook.serving.options import ServingOptions


def ended(scenario: Scenario, authority: Authority) -> tuple[int, str, str]:
    """Return the exit code, what a person was told, and the log of a server that ends by itself."""
    with launched(scenario, authority) as server:
        code = server.exit_code()
        assert server.process.stdout is not None
        told = server.process.stdout.read()
    return code, told, "".join(server.log)


def certificate(sock: ssl.SSLSocket) -> bytes:
    der = sock.getpeercert(binary_form=True)
    assert der is not None
    return der


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("refuses to be made", "the pear is not ripe: wait a week\n"),
        ("refuses to start", "the apple is gone: buy one\n"),
    ],
)
def test_a_service_that_refuses_ends_the_server_with_its_own_line(
    authority: Authority, fault: str, line: str
) -> None:
    scenario = Scenario(options=ServingOptions(**LOCAL), pairs=authority.pairs, fault=fault)  # type: ignore[arg-type]

    code, told, log = ended(scenario, authority)

    assert (code, told) == (2, line)
    assert "Traceback" not in log
    assert "ERROR" not in log
    assert log.count("Booting worker") == 1


def test_a_service_that_crashes_ends_the_server_with_a_traceback_in_the_log(authority: Authority) -> None:
    scenario = Scenario(options=ServingOptions(**LOCAL), pairs=authority.pairs, fault="crashes at start")

    code, told, log = ended(scenario, authority)

    assert (code, told) == (3, "")
    assert log.count("ZeroDivisionError: a bug\n") == 2  # in the traceback, and in the master's last line
    assert log.count("Traceback") == 1
    assert log.count("Booting worker") == 1
    assert "service stopped" in log


def test_one_worker_that_can_not_start_ends_all(authority: Authority) -> None:
    options = ServingOptions(**LOCAL | {"workers": 3})
    scenario = Scenario(options=options, pairs=authority.pairs, fault="refuses to start")

    code, told, log = ended(scenario, authority)

    assert (code, told) == (2, "the apple is gone: buy one\n")
    assert log.count("Booting worker") <= 3


@pytest.mark.parametrize("option", ["port", "ops_port"])
def test_a_taken_port_is_told_before_anything_starts(authority: Authority, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ServingOptions(**LOCAL | {option: port})

        code, told, log = ended(Scenario(options=options, pairs=authority.pairs), authority)

    assert code == 2
    assert told.startswith(f"can't listen on 127.0.0.1:{port}: another process has this port; ")
    assert told.endswith(f"or take another one with --{option.replace('_', '-')}\n")
    assert "Booting worker" not in log


def test_the_ops_port_answers_while_the_service_starts(start: Start) -> None:
    server = start(fault="waits at start")

    assert server.ops("/healthz") == (200, "ok\n")
    assert server.ops("/readyz") == (503, "starting\n")


def test_a_start_can_be_given_up_by_two_signals(start: Start) -> None:
    server = start(fault="waits at start", drain_seconds=60)

    server.signal(signal.SIGTERM)
    server.await_log("a second signal stops at once")
    server.signal(signal.SIGTERM)

    assert server.exit_code() == 0
    assert server.logged("service stopped")


def test_readiness_tells_the_reasons_of_the_service(start: Start) -> None:
    server = start(reasons=["no certificate", "no policy"])

    assert server.ops("/readyz") == (503, "no certificate\nno policy\n")


def test_a_new_context_is_for_new_connections_and_open_ones_live_on(start: Start) -> None:
    server = start()
    kept = server.http()
    kept.connect()
    assert isinstance(kept.sock, ssl.SSLSocket)
    before = certificate(kept.sock)

    kept.request("POST", "/swap")
    swapped = kept.getresponse().read()
    with server.tls() as sock:
        after = certificate(sock)
    kept.request("GET", "/")

    assert swapped == b"swapped"
    assert after != before
    assert kept.getresponse().read() == b"ok"
    assert certificate(kept.sock) == before
    kept.close()


def test_http_1_1_is_what_alpn_agrees_on(server: Server) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.authority.ca.configure_trust(context)
    context.set_alpn_protocols(["h2", "http/1.1"])

    with context.wrap_socket(server.tcp(), server_hostname="127.0.0.1") as sock:
        assert sock.selected_alpn_protocol() == "http/1.1"


def test_any_of_several_workers_answers_on_the_ops_port(start: Start) -> None:
    server = start(workers=2)
    seen: set[str] = set()

    def both_answered() -> bool:
        status, body = server.ops("/metrics")
        assert status == 200
        seen.add(body)
        return len(seen) == 2

    eventually(both_answered, "both workers answer")


def post_reasons(server: Server, *reasons: str) -> int:
    """Give reasons to whichever worker takes the call, and return its process id."""
    client = server.http()
    client.request("POST", "/reasons", body="\n".join(reasons))
    pid = int(client.getresponse().read())
    client.close()
    return pid


def asked_of_both(server: Server, path: str) -> set[tuple[int, str]]:
    """Return the answers of two workers: each is asked while the other is stopped and can't accept."""
    answers: set[tuple[int, str]] = set()
    for other in server.workers():
        with suspended(other):
            answers.add(server.ops(path))
    return answers


def test_whichever_worker_is_asked_names_the_one_that_is_not_ready(start: Start) -> None:
    server = start(workers=2)
    server.await_workers(2)

    pid = post_reasons(server, "no policy", "no certificate")
    other = "another worker (process {}) is not ready: "

    def both_say_so() -> bool:
        prefix = other.format(pid)
        return asked_of_both(server, "/readyz") == {
            (503, "no policy\nno certificate\n"),
            (503, f"{prefix}no policy\n{prefix}no certificate\n"),
        }

    eventually(both_say_so, "both workers tell of the reasons")


def test_a_worker_that_was_killed_takes_its_reasons_with_it(start: Start) -> None:
    server = start(workers=2)
    server.await_workers(2)
    pid = post_reasons(server, "no policy")

    os.kill(pid, signal.SIGKILL)
    eventually(lambda: pid not in server.workers(), "the end of the worker")
    server.await_workers(2)

    assert asked_of_both(server, "/readyz") == {(200, "ok\n")}


def test_an_ops_port_that_may_open_no_more_files_says_so_once_and_answers_again(start: Start) -> None:
    server = start(spare_files=4)

    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.ops_port)))
        server.await_log("the ops port can't accept connections: Too many open files (with ")
    status, _ = server.ops("/healthz")

    assert status == 200
    assert sum("can't accept" in line for line in server.log) == 1
    assert not server.logged("Traceback")


def test_only_the_master_comes_back_from_serve(start: Start) -> None:
    server = start(workers=2)

    server.signal(signal.SIGTERM)

    assert server.exit_code() == 0
    eventually(lambda: server.logged("back in main"), "the end of main")
    assert sum("back in main" in line for line in server.log) == 1


def test_the_log_of_a_quiet_life_is_three_lines(start: Start) -> None:
    server = start()
    server.get()

    server.seconds_to_stop()

    ours = [line.split(": ", 1)[1] for line in server.log if line.startswith("INFO custom_scheduler.serving")]
    assert [line.split(" ")[0].strip() for line in ours] == ["serving", "stopping:", "stopped"]
    assert not [line for line in server.log if line.startswith(("WARNING", "ERROR", "CRITICAL"))]


def test_the_garbage_collector_leaves_alone_what_was_there_before_the_workers(server: Server) -> None:
    assert int(server.get("/frozen")) > 0
