"""The product in the gate's cluster: two replicas as pods, from the shipped manifests, and what an admin does to it."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from devcluster.cluster import DevCluster
from devcluster.errors import RequestError
from tests.waiting import eventually

__all__ = ["NAMESPACE", "Installed"]

NAMESPACE = "custom-scheduler"
MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"
_DEPLOYMENTS = ("custom-scheduler", "custom-scheduler-binder")
_CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
_LEASE_PREFIX = "custom-scheduler-replica-"
_WEBHOOK_PODS = "app.kubernetes.io/name=custom-scheduler,app.kubernetes.io/component=webhook"
# A rollout of two replicas, the grace period of the last one included, on a machine that is busy with other things.
_PATIENCE_SECONDS = 120.0

Object = dict[str, Any]


class Installed:
    """What is applied is always overlay `fail`, with nothing changed, and the components that are asked for.

    Without cert-manager in the cluster, the objects that only cert-manager knows are left out.
    """

    def __init__(self, cluster: DevCluster, *, cert_manager: bool) -> None:
        self.cluster = cluster
        self._cert_manager = cert_manager

    # --- what an admin does

    def manifests(self, *components: str) -> str:
        """Return overlay `fail` with `components` on top."""
        with tempfile.TemporaryDirectory() as folder:
            # kustomize takes no absolute paths.
            up = "../" * (len(Path(folder).resolve().parts) - 1) + str(MANIFESTS).lstrip("/")
            kustomization = {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "resources": [f"{up}/overlays/fail"],
                "components": [f"{up}/components/{each}" for each in components],
            }
            Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
            built = self.cluster.kubectl("kustomize", folder).stdout
        objects = yaml.safe_load_all(built)
        return yaml.safe_dump_all(
            each
            for each in objects
            if self._cert_manager or not each["apiVersion"].startswith("cert-manager.io/")
        )

    def apply(self, *components: str) -> None:
        """Apply the manifests as a person does, and return when all replicas are of the newest template."""
        self.cluster.kubectl("apply", "-f", "-", input=self.manifests(*components))
        self.wait_rolled_out()

    def wait_rolled_out(self) -> None:
        """Return when every Deployment has rolled out, and the endpoints are the two replicas of the newest template."""
        for name in _DEPLOYMENTS:
            self.cluster.kubectl(
                *(
                    "rollout",
                    "status",
                    f"deployment/{name}",
                    "-n",
                    NAMESPACE,
                    f"--timeout={_PATIENCE_SECONDS:g}s",
                ),
                timeout=_PATIENCE_SECONDS + 10,
            )
        self.wait_called()

    def wait_called(self) -> None:
        """Return when the endpoints are the two pods that are not about to end."""

        def called() -> bool:
            staying = {each["status"].get("podIP") for each in self.pods() if not _is_ending(each)}
            return len(staying) == 2 and staying == set(self.endpoints())

        eventually(called, "the endpoints are two replicas", seconds=_PATIENCE_SECONDS)

    def wait_gone(self, uids: set[str]) -> None:
        """Return when none of these pods is left."""
        eventually(
            lambda: not uids & {each["metadata"]["uid"] for each in self.pods()},
            "the pods of before are gone",
            seconds=_PATIENCE_SECONDS,
        )

    def set_bundle(self, change: Callable[[bytes], bytes]) -> None:
        """Write caBundle of each entry, as an injector does; where a replica writes too, one of both is first."""
        for resource in _CONFIGURATIONS:
            eventually(partial(self._try_to_set_bundle, resource, change), f"caBundle of {resource} written")

    def _try_to_set_bundle(self, resource: str, change: Callable[[bytes], bytes]) -> bool:
        path = f"/apis/admissionregistration.k8s.io/v1/{resource}/custom-scheduler"
        configuration = self.cluster.request("GET", path)
        for entry in configuration["webhooks"]:
            before = base64.b64decode(entry["clientConfig"].get("caBundle", ""))
            entry["clientConfig"]["caBundle"] = base64.b64encode(change(before)).decode()
        try:
            self.cluster.request("PUT", path, configuration)
        except RequestError as error:
            if error.status != 409:
                raise
            return False
        return True

    def forget_killed(self) -> None:
        """Delete the Leases of replicas that were killed and don't come back, as docs/operations.md says."""
        staying = {
            f"{_LEASE_PREFIX}{each['metadata']['name']}"
            for each in self.pods()
            if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
        }
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        for lease in self.cluster.request("GET", path)["items"]:
            name = lease["metadata"]["name"]
            if name.startswith(_LEASE_PREFIX) and name not in staying:
                self.cluster.request("DELETE", f"{path}/{name}")

    # --- what is to be seen

    def pods(self) -> list[Object]:
        """Return the webhook's pods, those that are about to end too."""
        selector = _WEBHOOK_PODS.replace("=", "%3D").replace(",", "%2C")
        found: list[Object] = self.cluster.request(
            "GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selector}"
        )["items"]
        return found

    def endpoints(self) -> list[str]:
        """Return the addresses that the API server calls."""
        slices = self.cluster.request(
            "GET", f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
        )["items"]
        endpoints = [each for one in slices for each in one.get("endpoints") or []]
        return [each["addresses"][0] for each in endpoints if each["conditions"]["ready"]]

    def phase(self) -> str:
        """Return how far a rotation of the CA is, from its Secret."""
        data = self.cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/custom-scheduler-ca")[
            "data"
        ]
        return base64.b64decode(data["phase"]).decode() if "phase" in data else "stable"

    def bundles(self) -> list[bytes]:
        """Return caBundle of each entry."""
        configurations = [
            self.cluster.request("GET", f"/apis/admissionregistration.k8s.io/v1/{resource}/custom-scheduler")
            for resource in _CONFIGURATIONS
        ]
        entries: Sequence[Object] = [each for one in configurations for each in one["webhooks"]]
        return [base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in entries]


def _is_ending(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
