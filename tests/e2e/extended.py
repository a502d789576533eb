"""The real kube-scheduler with our extender beside it, and a cluster that has no other scheduler."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import trustme
import yaml

from devcluster.binaries import find_assets
from devcluster.build import say_on_stderr
from devcluster.cluster import DevCluster
from devcluster.ops import ask_ops
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.waiting import eventually

__all__ = ["Certificates", "Extender", "KubeScheduler", "binder_kubeconfig"]

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"


class Certificates:
    """One authority, and what it signs for the extender and for kube-scheduler."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "ca.crt"
        authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
        authority.cert_pem.write_to_path(str(self.authority))
        self.server = _pair(
            authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA), folder, "server"
        )
        client = authority.issue_cert(common_name="kube-scheduler", key_type=trustme.KeyType.ECDSA)
        self.client = _pair(client, folder, "client")


def _pair(leaf: trustme.LeafCert, folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(str(key))
    return certificate, key


class Extender:
    """`custom-scheduler extender` with the rights of the binder's ServiceAccount."""

    def __init__(
        self, cluster: DevCluster, certificates: Certificates, configuration: Path, *options: str
    ) -> None:
        self.port = free_port()
        self.ops_port = free_port()
        certificate, key = certificates.server
        self._command = [
            *(sys.executable, "-m", "webhook", "extender", "--host", "127.0.0.1", "--port", str(self.port)),
            *("--ops-host", "127.0.0.1", "--ops-port", str(self.ops_port), "--drain-seconds", "0"),
            *("--tls-cert", str(certificate), "--tls-key", str(key)),
            *("--client-ca", str(certificates.authority), "--scheduler-config", str(configuration)),
            *("--kubeconfig", str(binder_kubeconfig(cluster))),
            *options,
        ]
        self._log = cluster.logs / f"extender-{self.port}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(tethered(self._command), stdout=log, stderr=log)
        eventually(self._is_ready)

    def stop(self) -> int:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
        return self._process.wait(30)

    def log(self) -> str:
        return self._log.read_text()

    def metrics(self) -> str:
        return ask_ops(self.ops_port, "/metrics")[1]

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        return ask_ops(self.ops_port, "/readyz")[0] == 200


class KubeScheduler:
    """kube-scheduler as an administrator, with what `extender --print-config` prints; `changes` go over that."""

    def __init__(self, cluster: DevCluster, certificates: Certificates, url: str, **changes: Any) -> None:
        folder = certificates.authority.parent
        printed = subprocess.run(
            [sys.executable, "-m", "webhook", "extender", "--print-config", "--url", url],
            capture_output=True,
            text=True,
            check=True,
        )
        configuration = yaml.safe_load(printed.stdout)
        certificate, key = certificates.client
        (extender,) = configuration["extenders"]
        extender["tlsConfig"] = {
            "caFile": str(certificates.authority),
            "certFile": str(certificate),
            "keyFile": str(key),
        }
        extender.update(changes)
        configuration["clientConnection"] = {"kubeconfig": str(cluster.kubeconfig)}
        configuration["leaderElection"] = {"leaderElect": False}
        self._file = folder / f"kube-scheduler-{time.monotonic_ns()}.yaml"
        self._file.write_text(yaml.safe_dump(configuration))
        self._log = cluster.logs / "kube-scheduler-extended.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        program = find_assets(["kube-scheduler"], say_on_stderr) / "kube-scheduler"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                # Below 5 it doesn't tell of a priority function that failed.
                tethered([program, f"--config={self._file}", "--secure-port=0", "--v=5"]),
                env={"HOME": str(self._file.parent)},
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)

    def log(self) -> str:
        return self._log.read_text()


def binder_kubeconfig(cluster: DevCluster) -> Path:
    """Return a kubeconfig of the binder's ServiceAccount, whose rights are enough for the extender too."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "base/namespace.yaml"))
    cluster.kubectl("apply", "-f", str(MANIFESTS / "base/binder-rbac.yaml"))
    return cluster.service_account_kubeconfig("custom-scheduler", "custom-scheduler-binder")
