"""VolumeZone: a bound volume with zone or region labels is used from nodes in that zone or region.

Source: pkg/scheduler/framework/plugins/volumezone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from webhook.scheduling.arguments import NoArgs, parse_args
from webhook.scheduling.claims import claims_of
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, QueueingHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import PersistentVolume, Pod, StorageClass
from webhook.scheduling.plugin import Handle
from webhook.scheduling.plugins.hints import after_claim_change, queue_if
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = ["VolumeZone"]

# Labels of volumes and nodes, with what nodes may have in place of the old ones.
_STAND_INS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
# Between the zones of a volume that is in several.
_DELIMITER = "__"


class VolumeZone:
    """Compares the labels of volumes with those of nodes."""

    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had no available volume zone"),)

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        parse_args("VolumeZone", args, NoArgs)
        self._storage = handle.cache.storage
        self._topologies: list[tuple[str, frozenset[str]]] = []

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for the pod's claims, for volumes in other places, and for nodes to appear or change their labels."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE), after_claim_change
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE), _after_volume_change
            ),
            ClusterEventWithHint(ClusterEvent(Resource.STORAGE_CLASS, Action.ADD), _after_class_added),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        )

    def pre_filter(self, pod: Pod, _nodes: Nodes) -> Status:
        """Skip for a pod whose volumes have no such labels; refuses one whose volume isn't there."""
        self._topologies = []
        for ref in claims_of(pod):
            claim = None if ref.is_ephemeral else self._storage.claim(pod.metadata.namespace, ref.claim)
            if claim is None or not claim.spec.volume_name:
                # Other volume plugins answer for claims that are missing or not bound.
                continue
            volume = self._storage.volume(claim.spec.volume_name)
            if volume is None:
                reason = f'persistentvolume "{claim.spec.volume_name}" not found'
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
            self._topologies += _topologies(volume)
        return SUCCESS if self._topologies else SKIP

    def filter(self, _pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where all of them agree, or where the node has no such label at all."""
        unlabelled = np.ones(len(nodes), dtype=np.bool_)
        for key in _STAND_INS:
            unlabelled &= nodes.labels(key).equal(None)
        agreeing = np.ones(len(nodes), dtype=np.bool_)
        for key, allowed in self._topologies:
            labels, stand_ins = nodes.labels(key), nodes.labels(_STAND_INS[key])
            agreeing &= labels.is_in(allowed) | (labels.equal(None) & stand_ins.is_in(allowed))
        return agreeing | unlabelled


def _topologies(volume: PersistentVolume) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each such label of the volume, with the values that a node may have."""
    labels = volume.metadata.labels or {}
    for key in _STAND_INS:
        values = [value.strip() for value in labels.get(key, "").split(_DELIMITER)]
        # A label that is absent, or broken by an empty part, asks for nothing.
        if all(values):
            yield key, frozenset(values)


def _after_volume_change(_pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> QueueingHint:
    return queue_if(old is None or list(_topologies(old)) != list(_topologies(new)))


def _after_class_added(_pod: Pod, _old: None, new: StorageClass) -> QueueingHint:
    return queue_if(new.volume_binding_mode == "WaitForFirstConsumer")
