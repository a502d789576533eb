"""What the cluster tells of claims, volumes and CSI drivers."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

__all__ = ["Storage", "StorageObject"]

StorageObject: TypeAlias = CSIDriver | CSINode | PersistentVolume | PersistentVolumeClaim | StorageClass


class Storage:
    """The newest state of each object."""

    def __init__(self) -> None:
        self._objects: dict[tuple[type[StorageObject], str], StorageObject] = {}
        # Nodes that limit a driver.
        self._limits: Counter[str] = Counter()

    def put(self, item: StorageObject) -> None:
        """Add or update an object."""
        self.remove(item)
        self._objects[type(item), item.metadata.key] = item
        if isinstance(item, CSINode):
            self._limits.update(item.limited_drivers)

    def remove(self, item: StorageObject) -> None:
        """Drop an object, if it is known."""
        known = self._objects.pop((type(item), item.metadata.key), None)
        if isinstance(known, CSINode):
            self._limits.subtract(known.limited_drivers)
            self._limits = +self._limits

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return the claim of that name."""
        found = self._objects.get((PersistentVolumeClaim, f"{namespace}/{name}"))
        return found if isinstance(found, PersistentVolumeClaim) else None

    def volume(self, name: str) -> PersistentVolume | None:
        """Return the volume of that name."""
        found = self._objects.get((PersistentVolume, name))
        return found if isinstance(found, PersistentVolume) else None

    def waits_for_pod(self, claim: PersistentVolumeClaim) -> bool:
        """Tell whether a claim gets its volume only once a scheduler has chosen the node of the first pod that uses it."""
        found = self._objects.get((StorageClass, claim.storage_class))
        return isinstance(found, StorageClass) and found.volume_binding_mode == "WaitForFirstConsumer"

    def is_limited(self, driver: str) -> bool:
        """Tell whether some node attaches only so many volumes of this CSI driver."""
        return driver in self._limits

    def must_be_installed(self, driver: str) -> bool:
        """Tell whether the CSI driver's volumes exclude nodes on which the driver isn't registered."""
        found = self._objects.get((CSIDriver, driver))
        return isinstance(found, CSIDriver) and bool(found.spec.prevent_pod_scheduling_if_missing)
