"""Constraints that aren't implemented yet: a pod that uses one is left pending rather than placed wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduling.objects import Pod, Volume

__all__ = ["unsupported_fields"]

# Kinds whose volume is tied to nodes or zones, limited in number per node, or exclusive to one node.
_VOLUME_KINDS = {
    "persistent_volume_claim": "persistentVolumeClaim",
    "ephemeral": "ephemeral",
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "cinder": "cinder",
    "iscsi": "iscsi",
    "portworx_volume": "portworxVolume",
    "rbd": "rbd",
    "vsphere_volume": "vsphereVolume",
}


def unsupported_fields(pod: Pod) -> tuple[str, ...]:
    """Return the constraints on this pod that can't be honoured, named as in its manifest; empty if all can."""
    return tuple(_constraints(pod))


def _constraints(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for volume in spec.volumes:
        yield from _volume_kinds(volume)
    if spec.resource_claims:
        yield "spec.resourceClaims"
    if spec.scheduling_group is not None:
        yield "spec.schedulingGroup"


def _volume_kinds(volume: Volume) -> Iterator[str]:
    for attribute, kind in _VOLUME_KINDS.items():
        if getattr(volume, attribute) is not None:
            yield f"spec.volumes[{volume.name}].{kind}"
