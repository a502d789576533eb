"""Load on a webhook, from a client in Go whose transport is set as the API server's: bench/peers/load."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.reviews import UID, pod_review
from bench.webhooks import DENIAL, PEERS_FOLDER, Webhook
from devcluster.goprogram import ensure_program

__all__ = ["DENIED_OF", "Load", "LoadClient", "LoadError"]

DENIED_OF = 10
"""Of so many requests, one is for a pod without the label. In a cluster that is in order, fewer are."""

_PATIENCE_SECONDS = 30.0


class LoadError(Exception):
    """A webhook gave a wrong answer, or closed the connection; the text is one line that says which."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What the client measured. `sent` counts the requests of its warm-up too.

    `late` ones were given up on after ten seconds; they are among the requests, and count with that time.
    """

    requests: int
    sent: int
    late: int
    seconds: float
    p50_ms: float
    p99_ms: float
    connections: int
    tls: str

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


class LoadClient:
    """Sends reviews of pods, `size` bytes each, and takes nothing but the right answers."""

    def __init__(self, folder: Path, *, size: int, authority: Path, say: Callable[[str], None]) -> None:
        """Write the reviews into `folder`; `say` gets the progress where the client is yet to be built."""
        allowed, denied = folder / "allowed.json", folder / "denied.json"
        allowed.write_bytes(pod_review(size=size, labels={"custom": "web"}))
        denied.write_bytes(pod_review(size=size))
        program = ensure_program(PEERS_FOLDER / "load", packages=150, say=say)
        files = ("-ca", authority, "-allowed", allowed, "-denied", denied)
        what = ("-uid", UID, "-message", DENIAL, "-denied-of", DENIED_OF)
        self._command = [str(part) for part in (program, *files, *what)]

    def closed_loop(self, webhook: Webhook, *, seconds: float, concurrency: int) -> Load:
        """Keep so many requests under way for a while; raises LoadError."""
        return self._run(webhook, seconds, "-concurrency", concurrency)

    def open_loop(self, webhook: Webhook, *, seconds: float, rate: float) -> Load:
        """Send so many requests a second, whether or not those before are answered; raises LoadError.

        Latencies count from when a request was due.
        """
        return self._run(webhook, seconds, "-rate", rate)

    def _run(self, webhook: Webhook, seconds: float, *kind: object) -> Load:
        command = [*self._command, "-url", webhook.url, "-length", f"{seconds}s", *map(str, kind)]
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds + _PATIENCE_SECONDS
        )
        if result.returncode:
            raise LoadError(f"{webhook.name}: {result.stderr.strip()}")
        return msgspec.json.decode(result.stdout, type=Load)
