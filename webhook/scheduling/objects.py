"""Pods and nodes as scheduling needs them: typed, partial decodes of the API server's JSON.

Unknown fields are ignored. A list that Go writes without `omitempty` may be null, so those three
(`containers`, `nodeSelectorTerms`, `names`) admit None; every other absent list is an empty tuple.
Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from webhook.kube.meta import ObjectMeta

__all__ = [
    "Affinity",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerStatus",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Node",
    "NodeAffinity",
    "NodeCondition",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodCondition",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "Present",
    "Quantity",
    "ResourceList",
    "ResourceRequirements",
    "SchedulingGate",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WeightedPodAffinityTerm",
]

# The API server writes strings; people write numbers in the manifests that they want simulated.
Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]


# Decoded objects are trees, so the cycle collector has nothing to find in tens of thousands of pods.
class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    pass


class Present(_Object, frozen=True, kw_only=True):
    """A field that only matters by being there."""


class ResourceRequirements(_Object, frozen=True, kw_only=True):
    """Requests and limits of a container or of a whole pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(_Object, frozen=True, kw_only=True):
    """A port of a container; a `host_port` of 0 takes none on the node."""

    host_port: int = 0
    container_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(name="hostIP", default="")


class Container(_Object, frozen=True, kw_only=True):
    """A container or init container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None

    @property
    def is_sidecar(self) -> bool:
        """An init container that keeps running beside the others."""
        return self.restart_policy == "Always"


class LabelSelectorRequirement(_Object, frozen=True, kw_only=True):
    """One requirement on the labels of a pod or namespace."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(_Object, frozen=True, kw_only=True):
    """Requirements that must all hold; without any it matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(_Object, frozen=True, kw_only=True):
    """One requirement on a node's labels or fields."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(_Object, frozen=True, kw_only=True):
    """Requirements that must all hold; without any it matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(_Object, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredSchedulingTerm(_Object, frozen=True, kw_only=True):
    """A term that adds its weight to the nodes that match."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(_Object, frozen=True, kw_only=True):
    """What a pod asks of its node."""

    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(_Object, frozen=True, kw_only=True):
    """Which other pods, and within which topology domain."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(_Object, frozen=True, kw_only=True):
    """A term that adds its weight to the domains that match."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(_Object, frozen=True, kw_only=True):
    """What a pod asks of its neighbours; the same shape serves anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(_Object, frozen=True, kw_only=True):
    """All affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Taint(_Object, frozen=True, kw_only=True):
    """What keeps pods off a node. Times are left out, so equal taints compare equal."""

    key: str
    effect: str
    value: str = ""


class Toleration(_Object, frozen=True, kw_only=True):
    """Which taints a pod bears."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(_Object, frozen=True, kw_only=True):
    """How evenly pods spread over topology domains."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(_Object, frozen=True, kw_only=True):
    """A gate that keeps the pod out of scheduling while it is there."""

    name: str = ""


class PersistentVolumeClaimSource(_Object, frozen=True, kw_only=True):
    """The claim that a volume uses, by name."""

    claim_name: str = ""


class ImageVolumeSource(_Object, frozen=True, kw_only=True):
    """An image mounted as a volume."""

    reference: str = ""


class Volume(_Object, frozen=True, kw_only=True):
    """A volume, with the kinds that can bear on where a pod may run."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: Present | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    cinder: Present | None = None
    iscsi: Present | None = None
    portworx_volume: Present | None = None
    rbd: Present | None = None
    vsphere_volume: Present | None = None


class PodSpec(_Object, frozen=True, kw_only=True):
    """What a pod asks for."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    node_name: str = ""
    scheduler_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    preemption_policy: str | None = None
    host_network: bool = False
    resource_claims: tuple[Present, ...] = ()
    scheduling_group: Present | None = None


class ContainerStatus(_Object, frozen=True, kw_only=True):
    """The resources that the kubelet has granted to a container, beside those in its spec."""

    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class PodCondition(_Object, frozen=True, kw_only=True):
    """A condition of a pod."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class PodStatus(_Object, frozen=True, kw_only=True):
    """How far a pod has come."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None
    nominated_node_name: str = ""
    start_time: str | None = None


class Pod(_Object, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """Namespace and name, as in `default/web-0`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def containers(self) -> tuple[Container, ...]:
        """The main containers."""
        return self.spec.containers or ()

    @property
    def labels(self) -> dict[str, str]:
        """The pod's labels, empty where it has none."""
        return self.metadata.labels or {}

    @property
    def priority(self) -> int:
        """The priority that admission resolved; 0 without a priority class."""
        return self.spec.priority or 0

    @property
    def is_terminal(self) -> bool:
        """The pod has run to its end and holds nothing any more."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_terminating(self) -> bool:
        """Deletion was asked for; the pod holds its resources until it is gone."""
        return self.metadata.deletion_timestamp is not None


class NodeSpec(_Object, frozen=True, kw_only=True):
    """What an admin set on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(_Object, frozen=True, kw_only=True):
    """An image that a node has, under all its names."""

    names: tuple[str, ...] | None = None
    size_bytes: int = 0


class NodeCondition(_Object, frozen=True, kw_only=True):
    """A condition of a node."""

    type: str
    status: str = ""


class NodeStatus(_Object, frozen=True, kw_only=True):
    """What a node offers."""

    allocatable: ResourceList = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(_Object, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels, empty where it has none."""
        return self.metadata.labels or {}
