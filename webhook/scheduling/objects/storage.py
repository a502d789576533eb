"""Claims, volumes and what says how they are bound, limited and reached.

Source: k8s.io/api/core/v1 and k8s.io/api/storage/v1.
"""

from __future__ import annotations

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.base import ApiObject, Present
from webhook.scheduling.objects.selectors import NodeSelector

__all__ = ["CSIDriver", "CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"]

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_CLASS = "volume.beta.kubernetes.io/storage-class"


class _ClaimSpec(ApiObject, frozen=True, kw_only=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""


class _ClaimStatus(ApiObject, frozen=True, kw_only=True):
    phase: str = ""


class PersistentVolumeClaim(ApiObject, frozen=True, kw_only=True):
    """A claim to a volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _ClaimSpec = _ClaimSpec()
    status: _ClaimStatus = _ClaimStatus()

    @property
    def is_bound(self) -> bool:
        """It has its volume, and both sides know."""
        return bool(self.spec.volume_name) and _BIND_COMPLETED in (self.metadata.annotations or {})

    @property
    def storage_class(self) -> str:
        """The name of its StorageClass, empty for none; an old annotation goes before the field."""
        annotated = (self.metadata.annotations or {}).get(_CLASS)
        return annotated if annotated is not None else self.spec.storage_class_name or ""


class _VolumeNodeAffinity(ApiObject, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class _CSISource(ApiObject, frozen=True, kw_only=True):
    driver: str = ""


class _VolumeSpec(ApiObject, frozen=True, kw_only=True):
    node_affinity: _VolumeNodeAffinity | None = None
    csi: _CSISource | None = None
    # Kinds that CSI drivers have taken over.
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    azure_file: Present | None = None
    cinder: Present | None = None
    portworx_volume: Present | None = None
    vsphere_volume: Present | None = None


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    """A volume that claims can be bound to."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _VolumeSpec = _VolumeSpec()


class StorageClass(ApiObject, frozen=True, kw_only=True):
    """How claims of a class get their volumes."""

    metadata: ObjectMeta = ObjectMeta()
    volume_binding_mode: str | None = None


class _DriverLimits(ApiObject, frozen=True, kw_only=True):
    count: int | None = None


class _NodeDriver(ApiObject, frozen=True, kw_only=True):
    name: str = ""
    allocatable: _DriverLimits | None = None


class _CSINodeSpec(ApiObject, frozen=True, kw_only=True):
    drivers: tuple[_NodeDriver, ...] | None = None


class CSINode(ApiObject, frozen=True, kw_only=True):
    """The CSI drivers that a node has."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _CSINodeSpec = _CSINodeSpec()

    @property
    def limited_drivers(self) -> frozenset[str]:
        """The drivers that attach only so many volumes to this node."""
        return frozenset(
            driver.name
            for driver in self.spec.drivers or ()
            if driver.allocatable is not None and driver.allocatable.count is not None
        )


class _CSIDriverSpec(ApiObject, frozen=True, kw_only=True):
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(ApiObject, frozen=True, kw_only=True):
    """A CSI driver, and whether nodes without it are no good for its volumes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _CSIDriverSpec = _CSIDriverSpec()
