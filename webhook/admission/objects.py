"""The parts of Kubernetes objects that a decision looks at; all else is skipped while decoding.

One shape serves pods and the workloads that hold a pod template, so that a review is decoded in one pass.
Every field may be absent or null, as in what the API server sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

__all__ = [
    "CRON_JOB",
    "POD",
    "WORKLOADS",
    "Affinity",
    "Kind",
    "KubernetesObject",
    "Metadata",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorTerm",
    "OwnerReference",
    "PreferredSchedulingTerm",
    "Requirement",
    "Spec",
    "Template",
    "Toleration",
]

Kind = tuple[str, str]  # API group and kind; the API server converts objects to the version that rules name

POD: Kind = ("", "Pod")
CRON_JOB: Kind = ("batch", "CronJob")
# Where each workload keeps its pod template.
WORKLOADS: Mapping[Kind, str] = MappingProxyType(
    {
        ("apps", "Deployment"): "spec.template",
        ("apps", "ReplicaSet"): "spec.template",
        ("apps", "StatefulSet"): "spec.template",
        ("apps", "DaemonSet"): "spec.template",
        ("batch", "Job"): "spec.template",
        CRON_JOB: "spec.jobTemplate.spec.template",
        ("", "ReplicationController"): "spec.template",
    }
)

_NOTHING: Mapping[str, str] = MappingProxyType({})


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    pass


class OwnerReference(_Part, frozen=True, kw_only=True):
    """Who made an object; the one with `controller` manages it."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Metadata(_Part, frozen=True, kw_only=True):
    """An object's metadata."""

    name: str | None = None
    generate_name: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    deletion_timestamp: str | None = None


class Requirement(_Part, frozen=True, kw_only=True):
    """An expression over a node's labels, as written in the pod; not yet validated by the API server."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(_Part, frozen=True, kw_only=True):
    """Requirements that a node must meet all of; an empty term matches no node."""

    match_expressions: list[Requirement] | None = None
    match_fields: list[Any] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the term matches no node: k8s.io/component-helpers scheduling/corev1/nodeaffinity."""
        return not self.match_expressions and not self.match_fields


class NodeSelector(_Part, frozen=True, kw_only=True):
    """Terms of which a node must meet one."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(_Part, frozen=True, kw_only=True):
    """A term that adds to a node's score."""

    weight: int = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(_Part, frozen=True, kw_only=True):
    """The node affinity of a pod."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredSchedulingTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(_Part, frozen=True, kw_only=True):
    """The affinity of a pod, of which only the part about nodes matters."""

    node_affinity: NodeAffinity | None = None


class Toleration(_Part, frozen=True, kw_only=True):
    """A taint that a pod tolerates, as written in the pod."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class _Labelled(_Part, frozen=True, kw_only=True):
    metadata: Metadata | None = None
    spec: Spec | None = None

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; none, where they or the metadata are absent."""
        return (self.metadata and self.metadata.labels) or _NOTHING


class Template(_Labelled, frozen=True):
    """A pod template, or the job template of a CronJob."""


class Spec(_Part, frozen=True, kw_only=True):
    """The spec of a pod, a workload or a job template."""

    scheduler_name: str | None = None
    node_name: str | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    template: Template | None = None
    job_template: Template | None = None


class KubernetesObject(_Labelled, frozen=True):
    """An object under review."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations; none, where they or the metadata are absent."""
        return (self.metadata and self.metadata.annotations) or _NOTHING

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object."""
        owners = (self.metadata and self.metadata.owner_references) or ()
        return next((owner for owner in owners if owner.controller), None)

    @property
    def is_terminating(self) -> bool:
        """Whether the object is being deleted and waits for its finalizers."""
        return bool(self.metadata and self.metadata.deletion_timestamp)
