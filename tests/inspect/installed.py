"""An installation of which nothing runs: the objects that would be there if all was well."""

from __future__ import annotations

import base64
import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import yaml

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.custody import Custody
from webhook.kube.meta import micro_time

__all__ = [
    "BINDER_LEASE",
    "CONFIGURATIONS",
    "NAMESPACE",
    "REPLICA_LEASE",
    "SLICE",
    "Json",
    "Objects",
    "collection_of",
    "healthy",
    "lease",
    "path_of",
    "statuses",
]

Json = dict[str, Any]

NAMESPACE = "custom-scheduler"
MANIFESTS = Path(__file__).parents[2] / "manifests"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = {
    kind: f"{ADMISSION}/{kind}webhookconfigurations/custom-scheduler" for kind in ("validating", "mutating")
}
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
BINDER_LEASE = f"{LEASES}/custom-scheduler"
REPLICA_LEASE = f"{LEASES}/custom-scheduler-replica-a"
SLICE = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/custom-scheduler-1"
_RESOURCES = {"NetworkPolicy": "networkpolicies", "EndpointSlice": "endpointslices"}
_CLUSTER_WIDE = (
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
)


class Objects(Protocol):
    """The objects of a cluster, by path."""

    def change(self, path: str, edit: Callable[[Json], None]) -> None:
        """Edit an object in place, its status too."""

    def delete(self, path: str) -> None:
        """Delete an object."""


def collection_of(item: Json) -> str:
    """Return the path of the list that an object is in."""
    version = item["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if item["kind"] not in _CLUSTER_WIDE:
        root += f"/namespaces/{item['metadata']['namespace']}"
    return f"{root}/{_RESOURCES.get(item['kind'], item['kind'].lower() + 's')}"


def path_of(item: Json) -> str:
    """Return the path of an object."""
    return f"{collection_of(item)}/{item['metadata']['name']}"


def healthy() -> list[Json]:
    """Return the objects of the base, and those that running programs and controllers would have made."""
    authority = create_authority("custom-scheduler", utc_now())
    found = [*copy.deepcopy(_base()), _secret(authority), _slice()]
    found.append(lease("custom-scheduler", "binder-a", seconds=3600))
    annotations = {"custom-scheduler.io/ca": authority.fingerprint}
    found.append(lease("custom-scheduler-replica-a", "a", seconds=604_800, annotations=annotations))
    bundle = base64.b64encode(authority.bundle).decode()
    for item in found:
        for entry in item.get("webhooks", []):
            entry["clientConfig"]["caBundle"] = bundle
    return found


def statuses() -> Iterator[tuple[str, Json]]:
    """Yield the path and the status of each object whose controller would have set one."""
    for item in _base():
        if item["kind"] == "Deployment":
            ready = item["spec"]["replicas"]
            yield path_of(item), {"replicas": ready, "readyReplicas": ready, "availableReplicas": ready}
        if item["kind"] == "PodDisruptionBudget":
            counts = {"currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 1}
            yield path_of(item), counts


def lease(name: str, holder: str, *, seconds: int, annotations: dict[str, str] | None = None) -> Json:
    """Return a Lease that was renewed just now."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}},
        "spec": {
            "holderIdentity": holder,
            "renewTime": micro_time(datetime.now(UTC).timestamp()),
            "leaseDurationSeconds": seconds,
        },
    }


@cache
def _base() -> list[Json]:
    kubectl = Path(sys.executable).with_name("kubectl")
    made = subprocess.run(
        [kubectl, "kustomize", MANIFESTS / "base"], check=True, capture_output=True, text=True, timeout=60
    )
    return list(yaml.safe_load_all(made.stdout))


def _secret(authority: Authority) -> Json:
    data = {key: base64.b64encode(value).decode() for key, value in Custody(authority=authority).data.items()}
    metadata = {"name": "custom-scheduler-ca", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _slice() -> Json:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "custom-scheduler-1",
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": "custom-scheduler"},
        },
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": [f"10.1.0.{number}"], "conditions": {"ready": True}} for number in (1, 2)
        ],
        "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
    }
