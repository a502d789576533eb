"""The process that owns a running cluster: `python -m devcluster.supervisor PARENT`.

It is in a session of its own, so that no signal to the parent's group reaches it, and it outlives the parent
just long enough to stop the components and delete their folder. It takes requests on standard input and answers on
standard output. If it is itself killed, the kernel kills the components with it, and the next supervisor deletes
the folder.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from devcluster.controlplane import ControlPlane
from devcluster.errors import DevClusterError, StartError
from devcluster.folder import OwnedFolder, sweep
from devcluster.processes import Process
from devcluster.protocol import Done, Failed, Reply, Request, Start, StartApiserver, Started, StopApiserver

__all__ = ["Lifeline", "NotWanted", "main"]

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class NotWanted(Exception):
    """Nobody wants the cluster any more: the parent has ended or closed its end, or a signal asks to stop."""


class Lifeline:
    """All that the supervisor waits for, in one place: the parent, its requests, signals, and the components.

    The parent's end is seen twice: as the end of `requests`, and by its pid, since a child that the parent forked
    may hold the other end of `requests` open.
    """

    def __init__(self, parent: int, requests: int) -> None:
        self._requests = requests
        self._received = b""
        self._selector = selectors.DefaultSelector()
        self._parent = os.pidfd_open(parent)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        for descriptor in (requests, self._parent, self._woken):
            self._selector.register(descriptor, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._waker)
        for signum in _STOP_SIGNALS:
            signal.signal(signum, lambda *_: None)  # the wakeup descriptor tells; default would end us
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        self._selector.close()
        for descriptor in (self._parent, self._woken, self._waker):
            os.close(descriptor)

    def add(self, process: Process) -> None:
        """Take the end of `process` for a fault from now on."""
        self._selector.register(process.pidfd, selectors.EVENT_READ, process)

    def discard(self, process: Process) -> None:
        """Take the end of `process` as expected from now on."""
        self._selector.unregister(process.pidfd)

    def pause(self, seconds: float) -> None:
        """Wait up to `seconds`; raises `NotWanted`, or `StartError` when a component ends."""
        for key, _ in self._selector.select(seconds):
            if isinstance(key.data, Process):
                raise StartError(key.data.describe_end())
            if key.fd != self._requests:
                raise NotWanted
            self._receive()

    def next_request(self) -> Request:
        """Wait for the next request; raises as `pause` does."""
        while b"\n" not in self._received:
            self.pause(3600)
        line, _, self._received = self._received.partition(b"\n")
        return msgspec.json.decode(line, type=Request)

    def _receive(self) -> None:
        chunk = os.read(self._requests, 65_536)
        if not chunk:
            raise NotWanted
        self._received += chunk


def main() -> None:
    """Serve the parent whose pid is the first argument, until it ends."""
    parent = int(sys.argv[1])
    os.umask(0o077)
    with contextlib.suppress(NotWanted, ProcessLookupError), Lifeline(parent, sys.stdin.fileno()) as lifeline:
        if os.getppid() == parent:  # else it ended before the lifeline held it, and the pid may be another's
            _supervise(lifeline)


def _supervise(lifeline: Lifeline) -> None:
    request = lifeline.next_request()
    if not isinstance(request, Start):
        raise TypeError(f"the first request must be Start, not {request}")
    temporary = Path(tempfile.gettempdir())
    sweep(temporary)
    folder = OwnedFolder(temporary)
    try:
        plane = ControlPlane(folder.path, Path(request.assets), request.options, lifeline)
        try:
            plane.start()
            _reply(Started(folder=str(folder.path), port=plane.port))
            while True:
                _carry_out(lifeline.next_request(), plane)
                _reply(Done())
        except (DevClusterError, OSError) as error:
            _reply(Failed(message=str(error)))
        finally:
            plane.stop()
    finally:
        folder.remove()


def _carry_out(request: Request, plane: ControlPlane) -> None:
    match request:
        case StopApiserver():
            plane.stop_apiserver()
        case StartApiserver():
            plane.start_apiserver()
        case Start():
            raise StartError("the cluster has been started already")


def _reply(reply: Reply) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent has ended, and the lifeline will say so
        os.write(sys.stdout.fileno(), msgspec.json.encode(reply) + b"\n")


if __name__ == "__main__":
    main()
