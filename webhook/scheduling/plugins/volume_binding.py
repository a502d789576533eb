"""VolumeBinding: the pod's claims are bound, to volumes that its node can reach.

Claims that wait for the pod's node before they are bound aren't served: `webhook.scheduling.unsupported` keeps such
pods back. Source: pkg/scheduler/framework/plugins/volumebinding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from webhook.scheduling.arguments import NoArgs, parse_args
from webhook.scheduling.claims import ClaimRef, claims_of
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import PersistentVolumeClaim, Pod
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugins.hints import after_claim_change
from webhook.scheduling.selectors import match_selector
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["VolumeBinding"]

_OUT_OF_REACH, _GONE = 1, 2


class VolumeBinding:
    """Reads the claims, and the node affinity of the volumes that they are bound to."""

    reasons = (
        Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match PersistentVolume's node affinity"),
        Reason(
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        ),
    )

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        parse_args("VolumeBinding", args, NoArgs)
        self._storage = handle.cache.storage
        self._bound: list[PersistentVolumeClaim] = []

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for the pod's claims, and for volumes, classes and nodes to appear or change."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE), after_claim_change
            ),
            ClusterEventWithHint(ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE)),
            ClusterEventWithHint(ClusterEvent(Resource.STORAGE_CLASS, Action.ADD | Action.UPDATE)),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod without claims; refuses one whose claims are missing, lost or not bound."""
        refs = claims_of(pod)
        if not refs:
            return SKIP
        claims = []
        for ref in refs:
            claim = self._storage.claim(pod.metadata.namespace, ref.claim)
            fault = _fault(pod, ref, claim)
            if fault:
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (fault,))
            if claim is not None:
                claims.append(claim)
        if not all(claim.is_bound for claim in claims):
            reason = "pod has unbound immediate PersistentVolumeClaims"
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
        self._bound = claims
        return SUCCESS

    def filter(self, _pod: Pod, nodes: Nodes) -> npt.NDArray[np.uint8]:
        """Return where a volume is gone or its node affinity doesn't hold, for the first volume of which that is so."""
        bits = np.zeros(len(nodes), dtype=np.uint8)
        for claim in self._bound:
            volume = self._storage.volume(claim.spec.volume_name)
            if volume is None:
                bits[bits == 0] = _GONE
            elif volume.spec.node_affinity is not None and volume.spec.node_affinity.required is not None:
                bits[~match_selector(volume.spec.node_affinity.required, nodes) & (bits == 0)] = _OUT_OF_REACH
        return bits


def _fault(pod: Pod, ref: ClaimRef, claim: PersistentVolumeClaim | None) -> str:
    """Return what is wrong with the claim itself, in kube-scheduler's words; nothing if it is in order."""
    if claim is None:
        if ref.is_ephemeral:
            return (
                f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{ref.claim}"'
            )
        return f'persistentvolumeclaim "{ref.claim}" not found'
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{ref.claim}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{ref.claim}" is being deleted'
    owners = claim.metadata.owner_references or ()
    if ref.is_ephemeral and not any(owner.controller and owner.uid == pod.metadata.uid for owner in owners):
        return f"PVC {claim.metadata.key} was not created for pod {pod.key} (pod is not owner)"
    return ""
