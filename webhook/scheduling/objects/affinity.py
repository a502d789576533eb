"""What pods ask of their nodes, of their neighbours and of their spread."""

from __future__ import annotations

import msgspec

from webhook.scheduling.objects.base import ApiObject
from webhook.scheduling.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

__all__ = [
    "Affinity",
    "NodeAffinity",
    "PodAffinity",
    "PodAffinityTerm",
    "PreferredSchedulingTerm",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
]


class PreferredSchedulingTerm(ApiObject, frozen=True, kw_only=True):
    """A term that adds its weight to the nodes that match."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiObject, frozen=True, kw_only=True):
    """What a pod asks of its node."""

    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(ApiObject, frozen=True, kw_only=True):
    """Which other pods, and within which topology domain."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(ApiObject, frozen=True, kw_only=True):
    """A term that adds its weight to the domains that match."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiObject, frozen=True, kw_only=True):
    """What a pod asks of its neighbours; the same shape serves anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(ApiObject, frozen=True, kw_only=True):
    """All affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(ApiObject, frozen=True, kw_only=True):
    """How evenly pods spread over topology domains."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
