"""The product in a devcluster with certificates of cert-manager: manifests, and the Secret as a pod has it mounted."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from devcluster.certmanager.running import CertManager
from devcluster.cluster import DevCluster
from devcluster.errors import RequestError
from devcluster.kubelet.atomic import AtomicFolder
from tests.waiting import eventually

__all__ = ["NAMESPACE", "SERVING", "MountedSecret", "kustomization", "renewed"]

NAMESPACE, SERVING = "custom-scheduler", "custom-scheduler-serving"
MANIFESTS = Path(__file__).resolve().parents[3] / "manifests"
# kustomize takes a patch in flow style for JSON.
_CLOSED = json.dumps(
    [
        {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"},
        {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 10},
    ]
)
_LOCAL = json.dumps([{"op": "add", "path": "/spec/dnsNames/-", "value": "localhost"}])


def kustomization(folder: Path, *components: str) -> Path:
    """Write a user's kustomization into `folder`: the devcluster's overlay, failing closed, with these components."""
    shipped = os.path.relpath(MANIFESTS, folder.resolve())
    patches = [{"target": {"kind": "ValidatingWebhookConfiguration"}, "patch": _CLOSED}]
    if components:
        patches.append({"target": {"kind": "Certificate", "name": SERVING}, "patch": _LOCAL})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "resources": [f"{shipped}/overlays/devcluster"],
                "components": [f"{shipped}/components/{each}" for each in components],
                "patches": patches,
            }
        )
    )
    return folder


def renewed(cert_manager: CertManager, name: str) -> None:
    """Have a Certificate of our namespace issued anew, and return when it was."""
    before = cert_manager.revision(NAMESPACE, name)
    cert_manager.renew(NAMESPACE, name)
    eventually(lambda: cert_manager.revision(NAMESPACE, name) > before, f"{name} is issued anew")


class MountedSecret:
    """A Secret's volume: follows the Secret as the kubelet does, and keeps what it has where the Secret is gone."""

    def __init__(self, cluster: DevCluster, folder: Path, *, name: str = SERVING) -> None:
        self._cluster = cluster
        self._folder = AtomicFolder(folder)
        self._path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}"
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `serve` for this pair."""
        return ("--tls-cert", str(self.certificate), "--tls-key", str(self.key))

    def secret(self) -> dict[str, bytes]:
        """Return what the Secret holds; raises RequestError where there is none."""
        data = self._cluster.request("GET", self._path)["data"]
        return {key: base64.b64decode(value) for key, value in data.items()}

    def put(self, *, certificate: bytes, key: bytes) -> None:
        """Write this pair into the volume, while `held`."""
        self._folder.write({"tls.crt": certificate, "tls.key": key}, mode=0o644)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Follow the Secret no further for the length of the block."""
        with self._lock:
            yield

    def _follow(self) -> None:
        while not self._stopping.wait(0.1):
            with self._lock:
                try:
                    self._folder.write(self.secret(), mode=0o644)
                except RequestError as error:
                    if error.status != 404:
                        raise
