from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from devcluster.errors import PodError
from devcluster.kubelet.probes import Judgement, Probe, http_check
from tests.waiting import eventually


def test_it_takes_as_many_failures_in_a_row_as_the_threshold_says() -> None:
    judgement = Judgement({"failureThreshold": 3})

    assert [judgement.saw(each) for each in (True, False, False, True, False, False, False, True)] == [
        True,
        None,
        None,
        True,
        None,
        None,
        False,
        True,
    ]


def test_a_threshold_that_is_not_given_is_kubernetes_default() -> None:
    judgement = Judgement({})

    assert [judgement.saw(False) for _ in range(3)] == [None, None, False]
    assert judgement.saw(True) is True


class Server(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_port_may_be_given_by_its_name(server: HTTPServer) -> None:
    container = {"ports": [{"name": "ops", "containerPort": server.server_port}]}

    check = http_check({"httpGet": {"path": "/readyz", "port": "ops"}}, container, "127.0.0.1")

    assert check()


@pytest.mark.parametrize(("status", "success"), [(200, True), (302, True), (503, False)])
def test_success_is_what_the_kubelet_takes_for_it(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch, *, status: int, success: bool
) -> None:
    monkeypatch.setattr(Server, "status", status)

    check = http_check({"httpGet": {"path": "/readyz", "port": server.server_port}}, {}, "127.0.0.1")

    assert check() is success


def test_nobody_there_is_a_failure() -> None:
    assert not http_check({"httpGet": {"port": 1}}, {}, "127.0.0.1")()


@pytest.mark.parametrize("spec", [{"exec": {}}, {"httpGet": {"port": 1, "scheme": "HTTPS"}}])
def test_other_kinds_are_refused(spec: dict[str, object]) -> None:
    with pytest.raises(PodError, match="only httpGet"):
        http_check(spec, {}, "127.0.0.1")


def test_a_probe_goes_on_until_it_is_stopped() -> None:
    verdicts: list[bool] = []
    probe = Probe({"periodSeconds": 0.001}, lambda: True, verdicts.append)
    probe.start()
    eventually(lambda: len(verdicts) > 3, "a few verdicts")

    probe.stop()
    given = len(verdicts)

    assert set(verdicts[:given]) == {True}
    assert len(verdicts) == given
