"""What an admin may write in a policy, as frozen data; each default stands here and nowhere else."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from webhook.policy.names import KUBE_SYSTEM
from webhook.policy.pattern import Pattern

__all__ = [
    "Action",
    "Exempt",
    "Mode",
    "NodeAffinity",
    "NodeSelectorOperator",
    "NodeSelectorRequirement",
    "OtherScheduler",
    "Placement",
    "Policy",
    "PreferredRequirement",
    "RequiredLabel",
    "TaintEffect",
    "Toleration",
    "TolerationOperator",
]

Action = Literal["Deny", "Warn", "Audit"]
Mode = Literal["Deny", "Warn", "Off"]
OtherScheduler = Literal["Respect", "Override", "Deny"]
NodeSelectorOperator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
TolerationOperator = Literal["Equal", "Exists"]
TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class RequiredLabel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A label that each pod must have: with any value, one of `allowed_values`, or one that matches `pattern`."""

    key: str
    allowed_values: tuple[str, ...] = ()
    pattern: Pattern | None = None
    message: str = ""
    action: Action = "Deny"

    def __post_init__(self) -> None:
        if not self.message:
            msgspec.structs.force_setattr(self, "message", f"Pod must have {self.key} label")

    def accepts(self, value: str | None) -> bool:
        """Tell whether a pod whose label has `value` (None: no such label) keeps this rule."""
        if value is None:
            return False
        if self.allowed_values:
            return value in self.allowed_values
        return self.pattern is None or self.pattern.matches(value)


class Exempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whose requests are left as they are; `namespaces` always holds kube-system and our own namespace."""

    namespaces: frozenset[str] = frozenset({KUBE_SYSTEM})
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


class NodeSelectorRequirement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One expression over a node's labels; encodes as an entry of `matchExpressions`."""

    key: str
    operator: NodeSelectorOperator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.key, self.operator, ", ".join(self.values))))


class PreferredRequirement(NodeSelectorRequirement, frozen=True, kw_only=True):
    """An expression that adds `weight` (1 to 100) to the score of the nodes that meet it."""

    weight: int

    @property
    def requirement(self) -> NodeSelectorRequirement:
        """The expression without its weight."""
        return NodeSelectorRequirement(key=self.key, operator=self.operator, values=self.values)


class NodeAffinity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The node affinity that a steered pod gets."""

    required: tuple[NodeSelectorRequirement, ...] = (
        NodeSelectorRequirement(key="custom", operator="Exists"),
    )
    preferred: tuple[PreferredRequirement, ...] = ()


class Toleration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A toleration that a steered pod gets; encodes as an entry of `spec.tolerations`."""

    key: str = ""
    operator: TolerationOperator = "Equal"
    value: str = ""
    effect: TaintEffect | Literal[""] = ""
    toleration_seconds: int | None = None


class Placement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is done to a pod that opted in, and how its final state is checked."""

    scheduler_name: str = "custom-scheduler"
    other_scheduler: OtherScheduler = "Respect"
    node_affinity: NodeAffinity = NodeAffinity()
    tolerations: tuple[Toleration, ...] = ()
    verify: Mode = "Warn"


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A PlacementPolicy; without a spec's fields it is the default policy."""

    name: str
    required_labels: tuple[RequiredLabel, ...] = (RequiredLabel(key="custom"),)
    workloads: Mode = "Warn"
    exempt: Exempt = Exempt()
    placement: Placement = Placement()

    @property
    def generation(self) -> int:
        """The first 48 bits of the SHA-256 of the policy's meaning, for telling apart what replicas serve.

        Comments, order of keys and defaults written out don't change it. 48 bits are exact in a float,
        which is what a metric's value is.
        """
        canonical = msgspec.json.encode(self, order="deterministic", enc_hook=_pattern_text)
        return int.from_bytes(hashlib.sha256(canonical).digest()[:6], "big")


def _pattern_text(value: Pattern) -> str:
    return value.text
