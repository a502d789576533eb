"""Starts the program under test, talks to it, and leaves nothing of it behind."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
import trustme

from tests.serving.program import Scenario
from tests.waiting import eventually

PATIENCE_SECONDS = 20.0
_ANNOUNCED = re.compile(r"serving on https://\S+:(\d+), operations on http://\S+:(\d+)")


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A CA, and the PEM files of some pairs that it signed for this host."""

    ca: trustme.CA
    pairs: list[str]

    @classmethod
    def create(cls, folder: Path, *, pairs: int) -> Authority:
        """Write that many pairs into the folder."""
        ca = trustme.CA()
        files = [folder / f"pair-{number}.pem" for number in range(pairs)]
        for file in files:
            ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(file))
        return cls(ca=ca, pairs=[str(file) for file in files])

    @cached_property
    def client_context(self) -> ssl.SSLContext:
        """A context that trusts this CA, and no other."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.ca.configure_trust(context)
        return context


@dataclass(kw_only=True)
class Server:
    """A running server: its ports, its log so far, and ways to talk to it."""

    process: subprocess.Popen[str]
    authority: Authority
    log: list[str] = field(default_factory=list)
    port: int = 0
    ops_port: int = 0

    def logged(self, text: str) -> bool:
        """Return whether some line of the log contains this."""
        return any(text in line for line in self.log)

    def await_log(self, text: str) -> None:
        """Wait until a line of the log contains this."""
        eventually(
            lambda: self.logged(text) or self.process.poll() is not None, f"{text!r} in the log or the end"
        )
        assert self.logged(text), "".join(self.log)

    def tcp(self, timeout: float = PATIENCE_SECONDS) -> socket.socket:
        """Open a connection to the TLS port that has sent nothing yet."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def tls(self, timeout: float = PATIENCE_SECONDS) -> ssl.SSLSocket:
        """Open a connection to the TLS port that is through with its handshake."""
        return self.authority.client_context.wrap_socket(self.tcp(timeout), server_hostname="127.0.0.1")

    def http(self, timeout: float = PATIENCE_SECONDS) -> http.client.HTTPSConnection:
        """Return an HTTP client of the TLS port; it keeps its connection."""
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=timeout, context=self.authority.client_context
        )

    def get(self, path: str = "/", timeout: float = PATIENCE_SECONDS) -> str:
        """Return what a connection of its own gets for this path."""
        client = self.http(timeout)
        try:
            client.request("GET", path)
            return client.getresponse().read().decode()
        finally:
            client.close()

    def answers(self) -> bool:
        """Return whether a new client gets an answer, and isn't cut off."""
        try:
            return self.get() == "ok"
        except OSError:
            return False

    def seconds_to_answer(self, timeout: float = PATIENCE_SECONDS) -> float:
        """Return how long a new client waits for its answer; handshake included."""
        began = time.monotonic()
        assert self.get(timeout=timeout) == "ok"
        return time.monotonic() - began

    def is_stuck(self, seconds: float) -> bool:
        """Return whether a new client gets no answer within `seconds`."""
        try:
            self.get(timeout=seconds)
        except TimeoutError:
            return True
        return False

    def refuses(self) -> bool:
        """Return whether the TLS port takes no connections."""
        try:
            self.tcp().close()
        except ConnectionRefusedError:
            return True
        return False

    def ops(self, path: str) -> tuple[int, str]:
        """Return status and body of a path of the ops port."""
        client = http.client.HTTPConnection("127.0.0.1", self.ops_port, timeout=PATIENCE_SECONDS)
        try:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        finally:
            client.close()

    def workers(self) -> set[int]:
        """Return the process ids of the workers there are."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return set(map(int, children.split()))

    def await_workers(self, count: int) -> None:
        """Wait until so many workers are there and each has started its service."""
        eventually(
            lambda: (
                len(self.workers()) == count
                and sum("service started" in line for line in self.log)
                - sum("service stopped" in line for line in self.log)
                - sum("was sent SIGKILL" in line for line in self.log)
                >= count
            ),
            f"{count} workers that have started",
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the master."""
        self.process.send_signal(number)

    def exit_code(self) -> int:
        """Wait for the master's end."""
        return self.process.wait(PATIENCE_SECONDS)

    def seconds_to_stop(self) -> float:
        """Tell the master to stop, and return how long that takes."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        self.exit_code()
        return time.monotonic() - began


@contextmanager
def launched(scenario: Scenario, authority: Authority) -> Iterator[Server]:
    """Run the scenario in a session of its own; at the end nothing of that session may be left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.serving.program", msgspec.json.encode(scenario).decode()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    server = Server(process=process, authority=authority)
    assert process.stderr is not None
    assert process.stdout is not None
    reader = threading.Thread(target=server.log.extend, args=(process.stderr,))
    reader.start()
    try:
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # The pipe ends when the last process of the session has gone.
        reader.join(PATIENCE_SECONDS)
        process.stderr.close()
        process.stdout.close()
        assert not reader.is_alive(), "a worker has outlived its master"


@contextmanager
def running(scenario: Scenario, authority: Authority) -> Iterator[Server]:
    """Run the scenario and wait until it serves."""
    with launched(scenario, authority) as server:
        server.await_log("serving on https://")
        ports = next(found for line in server.log if (found := _ANNOUNCED.search(line)))
        server.port, server.ops_port = int(ports[1]), int(ports[2])
        server.await_log("service started")
        yield server
