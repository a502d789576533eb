"""The Python process's end of the line to its supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import msgspec

from devcluster.errors import StartError
from devcluster.protocol import Failed, Reply, Request

__all__ = ["Guard"]

_CHECKOUT = Path(__file__).parent.parent


class Guard:
    """A supervisor, started at once; whatever way this process ends, the supervisor stops all it has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        search = os.pathsep.join(filter(None, [str(_CHECKOUT), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "devcluster.supervisor", str(os.getpid())],
            cwd="/",  # or it would keep the present folder from being unmounted
            env={**os.environ, "PYTHONPATH": search},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid

    def call(self, request: Request) -> Reply:
        """Send a request and return its reply; raises `StartError` if the cluster can't go on."""
        with self._lock:
            requests = _pipe(self._process.stdin)
            try:
                requests.write(msgspec.json.encode(request) + b"\n")
                requests.flush()
            except BrokenPipeError:
                pass  # what it said before it ended comes next
            return self._next_reply()

    def wait(self) -> None:
        """Return never, but raise `StartError` when the cluster can't go on."""
        with self._lock:
            while True:
                self._next_reply()

    def close(self) -> str | None:
        """Have everything stopped and deleted; return what had failed before, if that was not told yet."""
        # The signal beside the end of the stream: a child forked from this process may hold the stream open.
        self._process.terminate()
        told, _ = self._process.communicate()
        for reply in map(_decode, told.splitlines()):
            if isinstance(reply, Failed):
                return reply.message
        return None

    def _next_reply(self) -> Reply:
        line = _pipe(self._process.stdout).readline()
        if not line:
            fault = _pipe(self._process.stderr).read().decode(errors="replace").strip()
            code = self._process.wait()
            raise StartError(f"the supervisor ended with {code}: {(fault or 'no word').splitlines()[-1]}")
        reply = _decode(line)
        if isinstance(reply, Failed):
            raise StartError(reply.message)
        return reply


def _decode(line: bytes) -> Reply:
    return msgspec.json.decode(line, type=Reply)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
