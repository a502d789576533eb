"""The PersistentVolumeClaims that pods use, and which of them are in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
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
    """How many placed pods use each claim, by node; those of ephemeral volumes have one pod each and aren't counted.

    Pods on a node that isn't known don't count, until it is: `row_of` gives the row of a node.
    """

    def __init__(self, row_of: Callable[[str], int | None]) -> None:
        self._row_of = row_of
        self._nodes: dict[tuple[str, str], Counter[str]] = {}

    def take(self, pod: Pod, node_name: str) -> None:
        """Count the claims of a pod that is placed."""
        for key in _counted(pod):
            self._nodes.setdefault(key, Counter())[node_name] += 1

    def give_back(self, pod: Pod, node_name: str) -> None:
        """Take back what `take` counted."""
        for key in _counted(pod):
            nodes = self._nodes[key]
            nodes[node_name] -= 1
            if not nodes[node_name]:
                del nodes[node_name]
                if not nodes:
                    del self._nodes[key]

    def is_used(self, namespace: str, claim: str) -> bool:
        """Tell whether a placed pod uses the claim."""
        return any(self._row_of(name) is not None for name in self._nodes.get((namespace, claim), ()))


def _counted(pod: Pod) -> Iterator[tuple[str, str]]:
    return ((pod.metadata.namespace, ref.claim) for ref in claims_of(pod) if not ref.is_ephemeral)
