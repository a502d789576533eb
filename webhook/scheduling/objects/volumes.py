"""The volumes of a pod."""

from __future__ import annotations

from webhook.scheduling.objects.base import ApiObject, Present

__all__ = ["ImageVolumeSource", "PersistentVolumeClaimSource", "Volume"]


class PersistentVolumeClaimSource(ApiObject, frozen=True, kw_only=True):
    """The claim that a volume uses, by name."""

    claim_name: str = ""


class ImageVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An image mounted as a volume."""

    reference: str = ""


class Volume(ApiObject, frozen=True, kw_only=True):
    """A volume, with the kinds that can bear on where a pod may run."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: Present | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    azure_file: Present | None = None
    cinder: Present | None = None
    iscsi: Present | None = None
    portworx_volume: Present | None = None
    rbd: Present | None = None
    vsphere_volume: Present | None = None
