"""Constraints that aren't implemented yet: a pod that uses one is left pending rather than placed wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduling.claims import ClaimRef, claims_of
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.objects import PersistentVolume, Pod, Volume
from webhook.scheduling.storage import Storage

__all__ = ["UNSUPPORTED_EVENTS", "unsupported_fields"]

# What can lift the verdict: the pod's claim is bound after all, or it is bound to, or limited by, something else.
UNSUPPORTED_EVENTS = tuple(
    ClusterEventWithHint(ClusterEvent(resource, Action.ADD | Action.UPDATE | Action.DELETE))
    for resource in (
        Resource.PERSISTENT_VOLUME_CLAIM,
        Resource.PERSISTENT_VOLUME,
        Resource.STORAGE_CLASS,
        Resource.CSI_NODE,
        Resource.CSI_DRIVER,
    )
)

# Kinds of volumes in a pod that are limited in number per node or exclusive to one.
_INLINE_KINDS = {
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "azure_file": "azureFile",
    "cinder": "cinder",
    "iscsi": "iscsi",
    "portworx_volume": "portworxVolume",
    "rbd": "rbd",
    "vsphere_volume": "vsphereVolume",
}
# Those of a PersistentVolume that a CSI driver has taken over, under the driver's limits and topology.
_MIGRATED_KINDS = {kind: name for kind, name in _INLINE_KINDS.items() if kind not in {"iscsi", "rbd"}}


def unsupported_fields(pod: Pod, storage: Storage) -> tuple[str, ...]:
    """Return the constraints on this pod that can't be honoured, named as in its manifest; empty if all can."""
    return tuple(_constraints(pod, storage))


def _constraints(pod: Pod, storage: Storage) -> Iterator[str]:
    spec = pod.spec
    if spec.volumes:
        for volume in spec.volumes:
            yield from _inline(volume)
        for ref in claims_of(pod):
            yield from _claimed(pod, ref, storage)
    if spec.resource_claims:
        yield "spec.resourceClaims"
    if spec.scheduling_group is not None:
        yield "spec.schedulingGroup"


def _inline(volume: Volume) -> Iterator[str]:
    for attribute, kind in _INLINE_KINDS.items():
        if getattr(volume, attribute) is not None:
            yield f"spec.volumes[{volume.name}].{kind}"


def _claimed(pod: Pod, ref: ClaimRef, storage: Storage) -> Iterator[str]:
    """What keeps the claim back; nothing for one that is missing, which the volume plugins tell of."""
    field = f"spec.volumes[{ref.volume}].{'ephemeral' if ref.is_ephemeral else 'persistentVolumeClaim'}"
    claim = storage.claim(pod.metadata.namespace, ref.claim)
    if claim is None:
        return
    if not claim.spec.volume_name:
        if storage.waits_for_pod(claim):
            yield f"{field} of a StorageClass with volumeBindingMode WaitForFirstConsumer"
        return
    volume = storage.volume(claim.spec.volume_name)
    if volume is not None:
        yield from (f"{field} on a volume {fault}" for fault in _faults(volume, storage))


def _faults(volume: PersistentVolume, storage: Storage) -> Iterator[str]:
    for attribute, kind in _MIGRATED_KINDS.items():
        if getattr(volume.spec, attribute) is not None:
            yield f"of kind {kind}"
    driver = volume.spec.csi.driver if volume.spec.csi is not None else ""
    if storage.is_limited(driver):
        yield f"of CSI driver {driver}, which limits the volumes of a node,"
    if storage.must_be_installed(driver):
        yield f"of CSI driver {driver}, which must be installed on the node,"
