"""custom-scheduler installed into a devcluster from the shipped manifests, with `serve` running beside it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster.cluster import DevCluster
from devcluster.errors import InstallationError
from devcluster.ops import ask_ops
from devcluster.ports import free_port
from devcluster.tether import tethered

__all__ = ["Installation"]

MANIFESTS = Path(__file__).resolve().parents[1] / "manifests"
# What the overlay says; a free port takes its place, so that several installations don't collide.
_OVERLAY_ADDRESS = "localhost:8443"


class Installation:
    """The product in a devcluster: manifests applied, `serve` up with the rights of its own ServiceAccount.

    A context manager; `serve` dies with this process, whatever way that ends. `overlay` is the folder of a
    kustomization that is the devcluster's overlay, or on top of it.
    """

    def __init__(
        self,
        cluster: DevCluster,
        *,
        overlay: Path = MANIFESTS / "overlays/devcluster",
        policy: Path = MANIFESTS / "base/policy.yaml",
        options: Sequence[str] = (),
        ready_seconds: float = 30,
    ) -> None:
        self.cluster = cluster
        self.port = free_port()
        self.ops_port = free_port()
        self.log_file = cluster.logs / f"serve-{self.port}.log"
        self._overlay = overlay
        self._policy = policy
        self._options = options
        self._ready_seconds = ready_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.apply_manifests()
        self.start()
        self.wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running `serve`; raises InstallationError where there is none."""
        if self._process is None:
            raise InstallationError("serve is not running: call start() first")
        return self._process

    def apply_manifests(self) -> None:
        """Apply the overlay, with this installation's port in its URLs."""
        overlay = self.cluster.kubectl("kustomize", str(self._overlay)).stdout
        manifests = overlay.replace(_OVERLAY_ADDRESS, f"localhost:{self.port}")
        self.cluster.kubectl("apply", "-f", "-", input=manifests)

    def command(self) -> list[str]:
        """Return the command line of `serve`."""
        kubeconfig = self.cluster.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
        return [
            *(sys.executable, "-m", "webhook", "serve"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--ops-host", "127.0.0.1", "--ops-port", str(self.ops_port)),
            *("--kubeconfig", str(kubeconfig), "--policy", str(self._policy), "--drain-seconds", "0"),
            *self._options,
        ]

    def start(self) -> None:
        """Start `serve`; its output goes to `log_file`."""
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                tethered(self.command()), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_ready(self) -> None:
        """Wait until /readyz says yes; raises InstallationError with the log's last line if not."""
        deadline = time.monotonic() + self._ready_seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise InstallationError(
                    f"serve ended with exit code {self.process.returncode}: {self._last_words()}"
                )
            if self.ops("/readyz")[0] == 200:
                return
            time.sleep(0.05)
        reasons = self.ops("/readyz")[1].strip()
        raise InstallationError(
            f"serve was not ready after {self._ready_seconds:g} s: {reasons} ({self._last_words()})"
        )

    def ops(self, path: str) -> tuple[int, str]:
        """Return status and body that the ops port gives for `path`; status 0 where nobody answers."""
        return ask_ops(self.ops_port, path)

    def stop(self) -> int:
        """Stop `serve` as a cluster would, with SIGTERM, and return its exit code."""
        process = self.process
        process.terminate()
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self._process = None
        return code

    def _last_words(self) -> str:
        lines = self.log_file.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it printed nothing to {self.log_file}"
