"""`serve --workers 2`: whichever worker is asked for metrics answers for both, and for those that have ended."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
import urllib3
from prometheus_client.parser import text_string_to_metric_families

from devcluster.ports import free_port
from tests.waiting import eventually
from webhook.policy.parse import load_policy

POLICY = Path(__file__).parents[2] / "manifests/base/policy.yaml"
JSON = {"Content-Type": "application/json"}
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "team-a",
        "object": {"metadata": {"name": "web"}, "spec": {}},
    },
}


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int
    ops_port: int
    context: ssl.SSLContext

    def workers(self) -> set[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return set(map(int, children.split()))

    def send(self, requests: int, *, to: int) -> None:
        """Send reviews that are denied to this worker: the others are stopped meanwhile, and can't accept."""
        others = self.workers() - {to}
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            with urllib3.HTTPSConnectionPool(
                "localhost", self.port, ssl_context=self.context, timeout=10
            ) as pool:
                for _ in range(requests):
                    answer = pool.request("POST", "/validate", body=json.dumps(REVIEW), headers=JSON)
                    assert answer.status == 200
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)

    def samples(self) -> dict[tuple[str, str], float]:
        """Return the metrics, by name and by the values of their labels in the order of the labels' names."""
        answer = urllib3.request("GET", f"http://127.0.0.1:{self.ops_port}/metrics", retries=False, timeout=5)
        assert answer.status == 200
        return {
            (sample.name, ",".join(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(answer.data.decode())
            for sample in family.samples
        }

    def counted(self) -> tuple[float, float]:
        """Return the requests counted, and those whose time was."""
        samples = self.samples()
        return (
            samples.get(("custom_scheduler_admission_requests_total", "CREATE,deny,/validate"), 0),
            samples.get(("custom_scheduler_admission_duration_seconds_count", "/validate"), 0),
        )

    def is_ready(self) -> bool:
        try:
            return (
                urllib3.request(
                    "GET", f"http://127.0.0.1:{self.ops_port}/readyz", retries=False, timeout=5
                ).status
                == 200
            )
        except urllib3.exceptions.HTTPError:
            return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    ca = trustme.CA()
    pair = tmp_path / "pair.pem"
    ca.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pair))
    context = ssl.create_default_context()
    ca.configure_trust(context)
    port, ops_port = free_port(), free_port()
    command = [
        *(sys.executable, "-m", "webhook", "serve", "--offline", "--policy", str(POLICY), "--workers", "2"),
        *("--host", "127.0.0.1", "--port", str(port), "--ops-host", "127.0.0.1", "--ops-port", str(ops_port)),
        *("--tls-cert", str(pair), "--tls-key", str(pair), "--drain-seconds", "0"),
    ]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        running = Server(process, port, ops_port, context)
        try:
            eventually(running.is_ready)
            eventually(lambda: len(running.workers()) == 2)
            yield running
        finally:
            process.terminate()
            process.wait(30)


def test_requests_are_counted_over_all_workers_and_none_is_lost_when_one_is_killed(server: Server) -> None:
    first, second = before = server.workers()
    server.send(20, to=first)
    server.send(30, to=second)
    assert {server.counted() for _ in range(10)} == {(50, 50)}

    os.kill(first, signal.SIGKILL)
    eventually(lambda: len(server.workers()) == 2 and server.workers() != before)
    assert server.counted() == (50, 50)

    (new,) = server.workers() - before
    eventually(server.is_ready)
    server.send(10, to=new)
    assert {server.counted() for _ in range(10)} == {(60, 60)}


def test_a_gauge_is_one_value_whichever_worker_is_asked_and_after_one_was_killed(server: Server) -> None:
    def gauges() -> list[float | None]:
        samples = server.samples()
        return [
            samples.get(key)
            for key in (
                ("custom_scheduler_policy_generation", ""),
                ("custom_scheduler_ready", "webhook"),
                ("custom_scheduler_certificate_expiry_timestamp_seconds", "leaf"),
            )
        ]

    generation = load_policy(POLICY, own_namespace="custom-scheduler").generation
    # A worker that is still starting says so if it is asked.
    before = eventually(lambda: seen if (seen := gauges())[1] == 1 else None)
    assert before[0] == generation
    assert before[2] is not None

    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)

    def is_as_before() -> bool:
        try:
            return server.is_ready() and gauges() == before
        except urllib3.exceptions.HTTPError:
            return False  # one that was killed had taken the connection

    eventually(is_as_before)


def test_nothing_of_the_metrics_is_left_on_disk(server: Server, tmp_path: Path) -> None:
    assert list(tmp_path.glob("custom-scheduler-metrics-*"))

    server.process.terminate()
    server.process.wait(30)

    assert list(tmp_path.glob("custom-scheduler-metrics-*")) == []
