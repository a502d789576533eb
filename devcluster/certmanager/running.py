"""`CertManager`: cert-manager's programs beside a devcluster, for the length of a `with` block."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devcluster.build import cache_folder, say_on_stderr
from devcluster.cluster import DevCluster
from devcluster.errors import BuildError
from devcluster.goprogram import ensure_program
from devcluster.processes import Process, end_all
from devcluster.toolchain import find_go, go_environment
from devcluster.version import read_versions

__all__ = ["CertManager"]

_MODULE = Path(__file__).parent
_CERT_MANAGER = "github.com/cert-manager/cert-manager"
_PACKAGES = 1_250
_STOP_SECONDS = 5.0
_API = "/apis/cert-manager.io/v1"


class CertManager:
    """cert-manager's controllers for self-signed and CA issuers, and its CA injector, as an administrator.

    Entering builds the program if need be, and creates the resource definitions; the programs die with this
    process, whatever way that ends. Raises `BuildError`.
    """

    def __init__(self, cluster: DevCluster, *, say: Callable[[str], None] = say_on_stderr) -> None:
        self._cluster = cluster
        self._say = say
        self._processes: list[Process] = []

    def __enter__(self) -> Self:
        program = ensure_program(_MODULE, packages=_PACKAGES, say=self._say)
        definitions = sorted(_sources(self._say).glob("deploy/crds/cert-manager.io_*.yaml"))
        files = [argument for path in definitions for argument in ("-f", str(path))]
        self._cluster.kubectl("apply", "--server-side", *files)
        self._cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        for name in ("controller", "cainjector"):
            self._processes.append(
                Process(
                    [str(program), name, f"--kubeconfig={self._cluster.kubeconfig}"],
                    cwd=self._cluster.logs,
                    env={"HOME": str(self._cluster.logs), "PATH": os.defpath},
                    log=self._cluster.logs / f"cert-manager-{name}.log",
                )
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        processes, self._processes = self._processes, []
        end_all(processes, grace=_STOP_SECONDS)

    def renew(self, namespace: str, name: str) -> None:
        """Have a Certificate issued anew now, as `cmctl renew` does: by its condition Issuing."""
        path = f"{_API}/namespaces/{namespace}/certificates/{name}"
        conditions: list[dict[str, Any]] = self._cluster.request("GET", path)["status"]["conditions"]
        issuing = {
            "type": "Issuing",
            "status": "True",
            "reason": "ManuallyTriggered",
            "message": "Certificate re-issuance manually triggered",
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        others = [each for each in conditions if each["type"] != "Issuing"]
        self._cluster.request("PATCH", f"{path}/status", {"status": {"conditions": [*others, issuing]}})

    def revision(self, namespace: str, name: str) -> int:
        """Return how many times a Certificate was issued; 0 before the first time."""
        found = self._cluster.request("GET", f"{_API}/namespaces/{namespace}/certificates/{name}")
        return int(found.get("status", {}).get("revision", 0))


def _sources(say: Callable[[str], None]) -> Path:
    """Return the folder of cert-manager's module, which also holds its resource definitions."""
    go = find_go(cache_folder(), read_versions().go, say)
    # Nothing is downloaded where the module is there already.
    for arguments in (["mod", "download", _CERT_MANAGER], ["list", "-m", "-f", "{{.Dir}}", _CERT_MANAGER]):
        answered = subprocess.run(
            [go, *arguments], cwd=_MODULE, env=go_environment(), capture_output=True, text=True, check=False
        )
        if answered.returncode:
            raise BuildError(f"go {' '.join(arguments)} in {_MODULE} failed: {answered.stderr.strip()}")
    return Path(answered.stdout.strip())
