"""The PersistentVolumeClaims that pods use, and which of them are in use."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from webhook.scheduling.objects import Pod

__all__ = ["ClaimRef", "ClaimsInUse", "claims_of"]


class ClaimRef(NamedTuple):
    """A volume of a pod, and the name of the claim behind it; the claim of an ephemeral volume is made for the pod."""

    volume: str
    claim: str
    is_ephemeral: bool


def claims_of(pod: Pod) -> list[ClaimRef]:
    """Return the claims of the pod's volumes, in their order."""
    refs = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            refs.append(ClaimRef(volume.name, volume.persistent_volume_claim.claim_name, is_ephemeral=False))
        elif volume.ephemeral is not None:
            refs.append(ClaimRef(volume.name, f"{pod.metadata.name}-{volume.name}", is_ephemeral=True))
    return refs


class ClaimsInUse:
    """How many placed pods use each claim."""

    def __init__(self) -> None:
        self._pods: Counter[tuple[str, str]] = Counter()

    def take(self, pod: Pod) -> None:
        """Count the claims of a pod that is placed."""
        for ref in claims_of(pod):
            self._pods[pod.metadata.namespace, ref.claim] += 1

    def give_back(self, pod: Pod) -> None:
        """Take back what `take` counted."""
        for ref in claims_of(pod):
            key = (pod.metadata.namespace, ref.claim)
            self._pods[key] -= 1
            if not self._pods[key]:
                del self._pods[key]

    def is_used(self, namespace: str, claim: str) -> bool:
        """Tell whether a placed pod uses the claim."""
        return (namespace, claim) in self._pods
