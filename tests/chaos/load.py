"""Calls at a steady rate, whatever becomes of the ones before, and the count of those that went wrong."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.waiting import eventually

__all__ = ["Answer", "Load", "Tally"]

_THREADS = 64
_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one call gave: `fault` is empty where it is what it had to be, and `text` is what was said."""

    fault: str = ""
    text: str = ""


@dataclass
class Tally:
    """What became of all calls. Times are in seconds, from when a call was due: lateness of ours counts as well."""

    calls: int = 0
    failed: int = 0
    faults: list[str] = field(default_factory=list)
    """The first few, with the second in which each was due."""
    texts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    latest: float = 0.0
    """By how much the latest call began after it was due: a machine with nothing to spare shows here."""

    def count(self, answer: Answer, *, due_at: float, took: float) -> None:
        """Take the answer to a call that was due `due_at` seconds after the first one."""
        self.calls += 1
        self.seconds.append(took)
        self.texts[answer.text] += 1
        if answer.fault:
            self.failed += 1
            if len(self.faults) < _SHOWN:
                self.faults.append(f"at {due_at:.2f} s: {answer.fault}")

    def quantile(self, part: float) -> float:
        """Return the time within which this part of the calls was answered."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(part * len(self.seconds)))]


class Load:
    """Calls `ask` with 0, 1, 2, … at `rate` per second, an open loop, from entering its context to leaving it.

    On leaving, the calls under way are waited for, so that `tally` is whole.
    """

    def __init__(self, ask: Callable[[int], Answer], *, rate: float) -> None:
        self.tally = Tally()
        self._ask = ask
        self._rate = rate
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(_THREADS)
        self._thread = threading.Thread(target=self._run, name="load")

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._pool.shutdown()

    def wait_for(self, calls: int) -> None:
        """Return when so many calls have been answered."""
        seconds = 60 + 2 * calls / self._rate
        eventually(lambda: self.tally.calls >= calls, f"{calls} calls answered", seconds=seconds)

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(max(0.0, self._started + number / self._rate - time.monotonic())):
            due_at = number / self._rate
            self.tally.latest = max(self.tally.latest, time.monotonic() - self._started - due_at)
            self._pool.submit(self._call, number, due_at)
            number += 1

    def _call(self, number: int, due_at: float) -> None:
        try:
            answer = self._ask(number)
        except Exception as error:  # noqa: BLE001 (whatever it is, the call has failed)
            answer = Answer(fault=f"{type(error).__name__}: {error}")
        with self._lock:
            self.tally.count(answer, due_at=due_at, took=time.monotonic() - self._started - due_at)
