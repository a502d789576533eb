"""A child process that can't outlive the one that started it, with its log and its end."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.tether import tethered

__all__ = ["Process", "end_all", "last_relevant_line"]

_LOG_TAIL_BYTES = 65_536
_KLOG_FAULT = re.compile(r"^[EF]\d{4} \S+ +\d+ \S+?\] (?P<text>.+)$")


class Process:
    """One component, started at once: writes to `log`, and is killed if the process that made this object ends."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.name = Path(command[0]).name
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                tethered(command),
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.pidfd = os.pidfd_open(self._popen.pid)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    def send(self, signum: signal.Signals) -> None:
        """Send a signal; nothing happens if the process has ended."""
        self._popen.send_signal(signum)

    def ended(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the end; return whether it came."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(max(0, timeout) * 1000))

    def reap(self) -> None:
        """Wait for the end, and free what the kernel holds for this process."""
        self._popen.wait()
        os.close(self.pidfd)

    def describe_end(self) -> str:
        """Say in one line how the process ended and what its log says about that; it must have ended."""
        code = self._popen.wait()
        if code < 0:  # by somebody else's doing, so its log knows nothing of it
            return f"{self.name} was killed by {signal.Signals(-code).name}"
        return f"{self.name} ended with {code}: {last_relevant_line(self.log)}"


def end_all(processes: Sequence[Process], *, grace: float) -> None:
    """End the processes together: SIGTERM, `grace` seconds for all of them, then SIGKILL."""
    for process in processes:
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + grace
    for process in processes:
        if not process.ended(deadline - time.monotonic()):
            process.send(signal.SIGKILL)
        process.reap()


def last_relevant_line(log: Path) -> str:
    """Return the line of a component's log that best says why it ended: its last error, else its last line.

    Knows klog (Kubernetes), zap's JSON (etcd), and what cobra and the Go runtime print.
    """
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _LOG_TAIL_BYTES))
        lines = [line for line in stream.read().decode(errors="replace").splitlines() if line.strip()]
    for line in reversed(lines):
        if fault := _fault_in(line):
            return fault
    return lines[-1].strip() if lines else "it wrote no log"


def _fault_in(line: str) -> str | None:
    if match := _KLOG_FAULT.match(line):
        return match["text"]
    if line.startswith(("Error: ", "error: ", "panic: ", "fatal error: ")):
        return line.strip()
    if line.startswith("{"):
        try:
            entry = json.loads(line)
        except ValueError:
            return None
        if entry.get("level") in ("error", "fatal", "panic"):
            return f"{entry.get('msg', '')}: {entry.get('error', '')}".removesuffix(": ")
    return None
