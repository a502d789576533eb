"""The webhooks that are compared, each a server of its own, with one certificate and one decision for all."""

from __future__ import annotations

import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from bench.environment import ensure_environment
from bench.processes import cpu_seconds, pss_mib
from certs.authority import create_authority
from certs.clock import utc_now
from certs.leaf import sign_leaf
from devcluster.errors import StartError
from devcluster.goprogram import ensure_program
from devcluster.ports import free_port
from devcluster.processes import Process, end_all

__all__ = ["DENIAL", "OURS", "PEERS", "Files", "Kind", "Webhook", "running"]

PEERS_FOLDER = Path(__file__).parent / "peers"

DENIAL = "Pod must have custom label"
"""What the message of every denial begins with."""

_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
_POLICY = f"""\
apiVersion: custom-scheduler.io/v1alpha1
kind: PlacementPolicy
metadata: {{name: default}}
spec:
  requiredLabels:
  - key: custom
    message: {DENIAL}
"""

Say = Callable[[str], None]


class Files:
    """What all webhooks are given: a certificate for 127.0.0.1 with its key, and the CA that signed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = folder / "ca.crt"
        self.certificate = folder / "tls.crt"
        self.key = folder / "tls.key"
        self.policy = folder / "policy.yaml"

    def write(self) -> None:
        """Write them anew."""
        now = utc_now()
        authority = create_authority("bench-serving", now)
        leaf = sign_leaf(authority, ["127.0.0.1"], now)
        self.authority.write_bytes(authority.bundle)
        self.certificate.write_bytes(leaf.certificate_pem)
        self.key.touch(mode=0o600)
        self.key.write_bytes(leaf.key_pem)
        self.policy.write_text(_POLICY)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One of the webhooks under comparison: how to get its program, and the command that runs it on a port."""

    name: str
    prepare: Callable[[Say], Path]
    command: Callable[[Path, Files, int], Sequence[object]]


def _serve(program: Path, files: Files, port: int) -> Sequence[object]:
    # No binder, as the peers place no pods; a denial is logged as in the image.
    options = ["--offline", "--host", "127.0.0.1", "--ops-host", "127.0.0.1", "--log-format", "json"]
    pair = ["--tls-cert", files.certificate, "--tls-key", files.key]
    size = ["--port", port, "--ops-port", free_port(), "--workers", len(os.sched_getaffinity(0))]
    end = ["--drain-seconds", 0]
    return [program, "-m", "webhook", "serve", "--policy", files.policy, *options, *pair, *size, *end]


OURS = Kind(name="ours", prepare=lambda _say: Path(sys.executable), command=_serve)
PEERS = (
    Kind(
        name="controller-runtime",
        prepare=lambda say: ensure_program(PEERS_FOLDER / "controller-runtime", packages=600, say=say),
        command=lambda program, files, port: [program, "-port", port, "-cert-dir", files.folder],
    ),
    Kind(
        name="kopf",
        prepare=lambda say: ensure_environment(PEERS_FOLDER / "kopf" / "requirements.txt", say=say),
        command=lambda program, files, port: [
            *(program, PEERS_FOLDER / "kopf" / "server.py", "--port", port),
            *("--tls-cert", files.certificate, "--tls-key", files.key),
        ],
    ),
)


class Webhook:
    """A webhook that runs."""

    def __init__(self, kind: Kind, program: Path, files: Files) -> None:
        self.name = kind.name
        self._port = free_port()
        self.url = f"https://127.0.0.1:{self._port}/validate"
        self.process = Process(
            [str(part) for part in kind.command(program, files, self._port)],
            cwd=Path(__file__).parent.parent,
            env=os.environ,
            log=files.folder / f"{kind.name}.log",
        )

    def await_answering(self, authority: Path) -> None:
        """Wait until it takes part in a handshake. Raises StartError if it ends before, or takes a minute."""
        context = ssl.create_default_context(cafile=str(authority))
        give_up = time.monotonic() + _START_SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self._port), timeout=_START_SECONDS) as sock:
                    context.wrap_socket(sock, server_hostname="127.0.0.1").close()
                    return
            except ConnectionRefusedError:
                if self.process.ended(0.05):
                    raise StartError(f"{self.name} did not start: {self.process.describe_end()}") from None
                if time.monotonic() > give_up:
                    raise StartError(f"{self.name} is not listening after {_START_SECONDS:g} s") from None

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used so far, all its processes together."""
        return cpu_seconds(self.process.pid)

    def pss_mib(self) -> float:
        """Return its memory, all its processes together."""
        return pss_mib(self.process.pid)


@contextmanager
def running(kinds: Sequence[tuple[Kind, Path]], files: Files) -> Iterator[list[Webhook]]:
    """Run webhooks side by side, each kind given with its program; raises StartError where one doesn't come up."""
    with ExitStack() as stack:
        webhooks: list[Webhook] = []
        stack.callback(lambda: end_all([webhook.process for webhook in webhooks], grace=_STOP_SECONDS))
        for kind, program in kinds:
            webhooks.append(Webhook(kind, program, files))
        for webhook in webhooks:
            webhook.await_answering(files.authority)
        yield webhooks
