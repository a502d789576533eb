"""Node selectors over all nodes at once: one mask per requirement.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

import re

import numpy as np

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod

__all__ = ["match_required", "match_selector", "match_term"]

# What Go's strconv.ParseInt takes.
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


def match_required(pod: Pod, nodes: Nodes) -> BoolArray | None:
    """Return where `spec.nodeSelector` and the required node affinity hold; None for a pod that has neither."""
    affinity = pod.spec.affinity
    required = None if affinity is None or affinity.node_affinity is None else affinity.node_affinity.required
    if required is None and not pod.spec.node_selector:
        return None
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key, value in pod.spec.node_selector.items():
        mask &= nodes.labels(key).equal(value)
    if required is not None:
        mask &= match_selector(required, nodes)
    return mask


def match_selector(selector: NodeSelector, nodes: Nodes) -> BoolArray:
    """Return where one of the terms holds; without terms, nowhere."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.node_selector_terms or ():
        mask |= match_term(term, nodes)
    return mask


def match_term(term: NodeSelectorTerm, nodes: Nodes) -> BoolArray:
    """Return where all requirements of the term hold; an empty term holds nowhere."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(nodes), dtype=np.bool_)
    mask = np.ones(len(nodes), dtype=np.bool_)
    for requirement in term.match_expressions:
        mask &= _match_expression(requirement, nodes)
    for requirement in term.match_fields:
        mask &= _match_field(requirement, nodes)
    return mask


def _match_expression(requirement: NodeSelectorRequirement, nodes: Nodes) -> BoolArray:
    labels = nodes.labels(requirement.key)
    match requirement.operator:
        case "In":
            return labels.is_in(requirement.values)
        case "NotIn":
            return ~labels.is_in(requirement.values)
        case "Exists":
            return ~labels.equal(None)
        case "DoesNotExist":
            return labels.equal(None)
        case "Gt" | "Lt":
            bound = _integer(requirement.values[0]) if len(requirement.values) == 1 else None
            if bound is None:
                return np.zeros(len(nodes), dtype=np.bool_)
            return labels.where(lambda value: _compares(value, requirement.operator, bound))
        case _:
            # The API server admits no other operator.
            return np.zeros(len(nodes), dtype=np.bool_)


def _match_field(requirement: NodeSelectorRequirement, nodes: Nodes) -> BoolArray:
    # The only field that the API server admits, with In or NotIn and exactly one value.
    if requirement.key == "metadata.name" and len(requirement.values) == 1:
        if requirement.operator == "In":
            return nodes.named(requirement.values)
        if requirement.operator == "NotIn":
            return ~nodes.named(requirement.values)
    return np.zeros(len(nodes), dtype=np.bool_)


def _compares(value: str | None, operator: str, bound: int) -> bool:
    number = None if value is None else _integer(value)
    if number is None:
        return False
    return number > bound if operator == "Gt" else number < bound


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
