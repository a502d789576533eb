"""Claims, volumes and what is around them, in one line each."""

from __future__ import annotations

from typing import Any

import msgspec

from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from webhook.scheduling.testing import make_pod


def claim(
    name: str = "c", *, volume: str | None = None, storage_class: str = "", **metadata: Any
) -> PersistentVolumeClaim:
    """A claim, bound if it has a volume."""
    bound = {} if volume is None else {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default", **bound, **metadata},
            "spec": {"volumeName": volume or "", "storageClassName": storage_class},
        },
        PersistentVolumeClaim,
    )


def one_pod_claim(name: str) -> PersistentVolumeClaim:
    """A bound claim that one pod may use."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumeName": "v", "accessModes": ["ReadWriteOncePod"]},
        },
        PersistentVolumeClaim,
    )


def volume(name: str = "v", *, labels: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    """A volume."""
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "spec": spec}, PersistentVolume)


def storage_class(name: str, mode: str | None) -> StorageClass:
    """A StorageClass with this volumeBindingMode."""
    return msgspec.convert({"metadata": {"name": name}, "volumeBindingMode": mode}, StorageClass)


def csi_node(name: str, **limits: int | None) -> CSINode:
    """What a node has of CSI drivers, with their limits."""
    drivers = [{"name": driver, "allocatable": {"count": count}} for driver, count in limits.items()]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"drivers": drivers or None}}, CSINode)


def csi_driver(name: str, *, prevents: bool) -> CSIDriver:
    """A CSI driver that excludes nodes without it, or not."""
    spec = {"preventPodSchedulingIfMissing": prevents}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def using(*claims: str, name: str = "pod", node: str = "") -> Pod:
    """A pod with a volume for each claim."""
    volumes = [{"name": f"of-{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return make_pod(name, node=node, spec={"volumes": volumes})


def with_ephemeral(volume_name: str = "scratch") -> Pod:
    """A pod with an ephemeral volume, whose claim is `pod-<volume_name>`."""
    return make_pod(spec={"volumes": [{"name": volume_name, "ephemeral": {"volumeClaimTemplate": {}}}]})
