"""Node objects that look like those of healthy kubelets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["DEFAULT_CAPACITY", "Taint", "node_manifest"]

DEFAULT_CAPACITY: Mapping[str, str] = {
    "cpu": "4",
    "memory": "32Gi",
    "pods": "110",
    "ephemeral-storage": "100Gi",
}
"""The size of a node in Kubernetes' scheduler_perf, so that figures can be compared."""

_CONDITIONS = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


def node_manifest(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    capacity: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a Node, as JSON, that is Ready and whose whole capacity is allocatable.

    `labels` come beside those that a kubelet sets; `capacity` changes single entries of `DEFAULT_CAPACITY`.
    """
    resources = {**DEFAULT_CAPACITY, **(capacity or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **(labels or {}),
            },
        },
        "spec": {"taints": [asdict(taint) for taint in taints]},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [
                {"type": kind, "status": status, "reason": "DevCluster"}
                for kind, status in _CONDITIONS.items()
            ],
        },
    }
