"""Selectors of labels, and of nodes by labels and fields."""

from __future__ import annotations

import msgspec

from webhook.scheduling.objects.base import ApiObject

__all__ = [
    "LabelSelector",
    "LabelSelectorRequirement",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
]


class LabelSelectorRequirement(ApiObject, frozen=True, kw_only=True):
    """One requirement on the labels of a pod or namespace."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(ApiObject, frozen=True, kw_only=True):
    """Requirements that must all hold; without any it matches everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(ApiObject, frozen=True, kw_only=True):
    """One requirement on a node's labels or fields."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiObject, frozen=True, kw_only=True):
    """Requirements that must all hold; without any it matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(ApiObject, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None
