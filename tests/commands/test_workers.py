"""`serve --workers 2`: whichever worker is asked for metrics answers for both, and for those that have ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.admission.reviews import body, pod
from tests.offline import OfflineServer
from tests.suspended import suspended
from tests.waiting import eventually
from webhook.policy.parse import load_policy

POLICY = Path(__file__).parents[2] / "manifests/base/policy.yaml"
JSON = {"Content-Type": "application/json"}


class Server(OfflineServer):
    def workers(self) -> set[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return set(map(int, children.split()))

    def send(self, requests: int, *, to: int) -> None:
        """Send reviews that are denied to this worker: the others are stopped meanwhile, and can't accept."""
        with ExitStack() as stack:
            for other in self.workers() - {to}:
                stack.enter_context(suspended(other))
            with self.pool() as pool:
                for _ in range(requests):
                    answer = pool.request("POST", "/validate", body=body(pod()), headers=JSON)
                    assert answer.status == 200

    def samples(self) -> dict[tuple[str, str], float]:
        """Return the metrics, by name and by the values of their labels in the order of the labels' names."""
        status, text = self.ops("/metrics")
        if status != 200:
            return {}  # one that was killed had taken the connection
        return {
            (sample.name, ",".join(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def counted(self) -> tuple[float, float]:
        """Return the requests counted, and those whose time was."""
        samples = eventually(self.samples)
        return (
            samples.get(("custom_scheduler_admission_requests_total", "CREATE,deny,/validate"), 0),
            samples.get(("custom_scheduler_admission_duration_seconds_count", "/validate"), 0),
        )

    def is_ready(self) -> bool:
        return self.ops("/readyz")[0] == 200


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, POLICY, "--workers", "2") as server:
        eventually(server.is_ready)
        eventually(lambda: len(server.workers()) == 2)
        yield server


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

    eventually(lambda: server.is_ready() and gauges() == before)


def test_nothing_of_the_metrics_is_left_on_disk(server: Server, tmp_path: Path) -> None:
    assert list(tmp_path.glob("custom-scheduler-metrics-*"))

    server.process.terminate()
    server.process.wait(30)

    assert list(tmp_path.glob("custom-scheduler-metrics-*")) == []
