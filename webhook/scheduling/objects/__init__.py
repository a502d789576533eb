"""Objects of the API as scheduling needs them: typed, partial decodes of the API server's JSON.

Unknown fields are ignored. A list that Go writes without `omitempty` may be null, so those three
(`containers`, `nodeSelectorTerms`, `names`) admit None; every other absent list is an empty tuple.
Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from webhook.scheduling.objects.affinity import (
    Affinity,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from webhook.scheduling.objects.base import Present, Quantity, ResourceList
from webhook.scheduling.objects.containers import (
    Container,
    ContainerPort,
    ContainerStatus,
    ResourceRequirements,
)
from webhook.scheduling.objects.metrics import NodeMetrics
from webhook.scheduling.objects.namespaces import Namespace
from webhook.scheduling.objects.nodes import ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus, Taint
from webhook.scheduling.objects.pods import Pod, PodCondition, PodSpec, PodStatus, SchedulingGate, Toleration
from webhook.scheduling.objects.selectors import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from webhook.scheduling.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from webhook.scheduling.objects.volumes import ImageVolumeSource, PersistentVolumeClaimSource, Volume
from webhook.scheduling.objects.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

__all__ = [
    "Affinity",
    "CSIDriver",
    "CSINode",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerStatus",
    "ImageVolumeSource",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeCondition",
    "NodeMetrics",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimSource",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodCondition",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "Present",
    "Quantity",
    "ReplicaSet",
    "ReplicationController",
    "ResourceList",
    "ResourceRequirements",
    "SchedulingGate",
    "Service",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WeightedPodAffinityTerm",
]
