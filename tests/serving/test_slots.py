from __future__ import annotations

import os
import signal
from contextlib import ExitStack, closing

from webhook.serving.slots import WorkerSlots


class Worker:
    """A process that takes a number and keeps it until it is killed."""

    def __init__(self, slots: WorkerSlots) -> None:
        told, tell = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.write(tell, bytes([slots.take()]))
            signal.pause()
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            self.slot = pipe.read(1)[0]

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def test_each_worker_has_a_number_of_its_own() -> None:
    with closing(WorkerSlots()) as slots, ExitStack() as stack:
        workers = [stack.enter_context(closing(Worker(slots))) for _ in range(3)]

        assert [worker.slot for worker in workers] == [0, 1, 2]


def test_a_worker_that_replaces_one_that_was_killed_has_its_number() -> None:
    with closing(WorkerSlots()) as slots:
        first = Worker(slots)
        with closing(Worker(slots)):
            first.close()

            with closing(Worker(slots)) as third:
                assert third.slot == first.slot == 0
