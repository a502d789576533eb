from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from webhook.serving.reports import WorkerReports


class Worker:
    """A process that does something with the reports, and then stays until it is killed."""

    def __init__(self, act: Callable[[], object]) -> None:
        told, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.write(tell, repr(act()).encode())
            signal.pause()
        os.close(tell)
        with os.fdopen(told, "rb", buffering=0) as pipe:
            self.returned = pipe.read(65536).decode()

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def reports() -> Iterator[WorkerReports]:
    with closing(WorkerReports()) as reports:
        yield reports


def test_what_each_worker_tells_is_known_to_all(reports: WorkerReports) -> None:
    with (
        closing(Worker(lambda: reports.tell([]))) as ready,
        closing(Worker(lambda: reports.tell(["no certificate", "no policy"]))) as unready,
    ):
        assert reports.of_others() == {ready.pid: [], unready.pid: ["no certificate", "no policy"]}


def test_a_worker_is_not_among_the_others(reports: WorkerReports) -> None:
    def tell_and_look() -> object:
        reports.tell(["no policy"])
        return reports.of_others()

    with closing(Worker(tell_and_look)) as worker:
        assert worker.returned == "{}"


def test_the_last_word_counts(reports: WorkerReports) -> None:
    def tell_twice() -> None:
        reports.tell(["a long reason"])
        reports.tell([])

    with closing(Worker(tell_twice)) as worker:
        assert reports.of_others() == {worker.pid: []}


def test_the_word_of_a_worker_that_was_killed_counts_no_more(reports: WorkerReports) -> None:
    worker = Worker(lambda: reports.tell(["no policy"]))

    worker.close()

    assert reports.of_others() == {}


def test_the_word_of_one_that_was_killed_is_not_taken_for_that_of_its_successor(
    reports: WorkerReports,
) -> None:
    Worker(lambda: reports.tell([])).close()

    # The successor has the number already, and has told nothing yet.
    with closing(Worker(reports._slots.take)):
        assert reports.of_others() == {}


def test_a_worker_that_withdraws_counts_no_more(reports: WorkerReports) -> None:
    def tell_and_withdraw() -> None:
        reports.tell(["no policy"])
        reports.withdraw()

    with closing(Worker(tell_and_withdraw)):
        assert reports.of_others() == {}


def test_a_report_that_is_too_long_keeps_out_of_the_next_one(reports: WorkerReports) -> None:
    with (
        closing(Worker(lambda: reports.tell(["é" * 1000]))) as first,
        closing(Worker(lambda: reports.tell(["no policy"]))) as second,
    ):
        told = reports.of_others()

    assert told[first.pid][0].startswith("é" * 500)
    assert told[second.pid] == ["no policy"]
