"""The gate as tests see it: a program in a sandbox that plays one scenario after another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

import msgspec

from devcluster.sandbox import check_sandbox, sandboxed
from tests.chaos.protocol import Options, Ready, Request, Result

__all__ = ["Gate"]

_CHECKOUT = Path(__file__).resolve().parents[2]
_END_SECONDS = 20.0

_Received = TypeVar("_Received", Ready, Result)


class Gate:
    """Entered, it has a cluster with two replicas; left, nothing of that is left, and so if this process is killed.

    Raises `SandboxError` where this machine has no namespaces for it.
    """

    def __init__(self, options: Options) -> None:
        self._options = options

    def __enter__(self) -> Self:
        check_sandbox()
        command = [sys.executable, "-m", "tests.chaos.world", msgspec.json.encode(self._options).decode()]
        self.log = Path(self._options.logs, "world.log")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                sandboxed(command),
                cwd=_CHECKOUT,
                env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            self._receive(Ready)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def pid(self) -> int:
        """The process that all others end with."""
        return self._process.pid

    def play(self, scenario: str, calls: int) -> Result:
        """Play a scenario with at least so many calls."""
        requests = _pipe(self._process.stdin)
        requests.write(msgspec.json.encode(Request(scenario=scenario, calls=calls)) + b"\n")
        requests.flush()
        return self._receive(Result)

    def _receive(self, kind: type[_Received]) -> _Received:
        line = _pipe(self._process.stdout).readline()
        if not line:
            self._process.wait()
            said = self.log.read_text(errors="replace").strip().splitlines() or ["nothing"]
            raise AssertionError(f"the gate has ended; its last words: {said[-1]} (all of them: {self.log})")
        return msgspec.json.decode(line, type=kind)

    def _end(self) -> None:
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
