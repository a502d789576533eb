"""Pods, with the parts that only they have."""

from __future__ import annotations

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.affinity import Affinity, TopologySpreadConstraint
from webhook.scheduling.objects.base import ApiObject, Present, ResourceList
from webhook.scheduling.objects.containers import Container, ContainerStatus, ResourceRequirements
from webhook.scheduling.objects.volumes import Volume

__all__ = ["Pod", "PodCondition", "PodSpec", "PodStatus", "SchedulingGate", "Toleration"]


class Toleration(ApiObject, frozen=True, kw_only=True):
    """Which taints a pod bears."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SchedulingGate(ApiObject, frozen=True, kw_only=True):
    """A gate that keeps the pod out of scheduling while it is there."""

    name: str = ""


class PodSpec(ApiObject, frozen=True, kw_only=True):
    """What a pod asks for."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None
    node_name: str = ""
    scheduler_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    host_network: bool = False
    host_users: bool | None = None
    resource_claims: tuple[Present, ...] = ()
    scheduling_group: Present | None = None


class PodCondition(ApiObject, frozen=True, kw_only=True):
    """A condition of a pod."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class PodStatus(ApiObject, frozen=True, kw_only=True):
    """How far a pod has come."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None
    nominated_node_name: str = ""
    start_time: str | None = None


class Pod(ApiObject, frozen=True, kw_only=True):
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
