"""VolumeRestrictions: a claim with the access mode ReadWriteOncePod is used by one pod at a time.

Source: pkg/scheduler/framework/plugins/volumerestrictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from webhook.scheduling.arguments import NoArgs, parse_args
from webhook.scheduling.claims import claims_of
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugins.hints import after_claim_change, queue_if
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["VolumeRestrictions"]

_ONE_POD = "ReadWriteOncePod"


class VolumeRestrictions:
    """Compares with the claims of all placed pods, wherever they are."""

    reasons = (
        Reason(
            Code.UNSCHEDULABLE,
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
            "by another pod",
        ),
    )

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        parse_args("VolumeRestrictions", args, NoArgs)
        self._cache = handle.cache

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a pod to go that shares a claim, for a claim to appear, and for nodes, whose pods go with them."""
        return (
            ClusterEventWithHint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), _after_pod_deletion),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD | Action.DELETE)),
            ClusterEventWithHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), after_claim_change
            ),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip unless such a claim of the pod is in use; refuses a pod with a claim that isn't there."""
        namespace, in_use = pod.metadata.namespace, False
        for ref in claims_of(pod):
            if ref.is_ephemeral:
                continue
            claim = self._cache.storage.claim(namespace, ref.claim)
            if claim is None:
                reason = f'persistentvolumeclaim "{ref.claim}" not found'
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
            if _ONE_POD in claim.spec.access_modes:
                in_use |= self._cache.table.claims.is_used(namespace, ref.claim)
        return SUCCESS if in_use else SKIP

    def filter(self, _pod: Pod, nodes: Nodes) -> BoolArray:
        """Return no node, as long as another pod uses the claim."""
        return np.zeros(len(nodes), dtype=np.bool_)


def _after_pod_deletion(pod: Pod, old: Pod, _new: None) -> QueueingHint:
    if old.metadata.namespace != pod.metadata.namespace:
        return QueueingHint.QUEUE_SKIP
    return queue_if({ref.claim for ref in claims_of(pod)} & {ref.claim for ref in claims_of(old)})
