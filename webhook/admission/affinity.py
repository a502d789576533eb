"""A policy's node affinity in a pod: what it lacks, and the operations that add it.

Terms are ORed, so a requirement goes into each: a term of its own, or one term alone, would leave a way around it.
A term without requirements matches no node and is left so; a selector without terms is invalid, and is left for the
API server to refuse. Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity and k8s.io/kubernetes
pkg/apis/core/validation ValidateNodeSelector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webhook.admission.objects import Affinity, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from webhook.admission.patch import Add, pointer
from webhook.policy.model import NodeAffinity, NodeSelectorRequirement, PreferredRequirement

__all__ = ["REQUIRED_FIELD", "add_node_affinity", "lacking_requirements"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

REQUIRED_FIELD = f"spec.affinity.nodeAffinity.{_REQUIRED}"


def lacking_requirements(
    affinity: Affinity | None, wanted: Sequence[NodeSelectorRequirement]
) -> list[NodeSelectorRequirement]:
    """Return the wanted requirements that don't hold for every node that the affinity admits."""
    node_affinity = affinity.node_affinity if affinity else None
    if node_affinity is None or node_affinity.required is None:
        return list(wanted)
    terms = [term for term in node_affinity.required.node_selector_terms or () if not term.is_empty]
    return [requirement for requirement in wanted if any(_lacks(term, requirement) for term in terms)]


def add_node_affinity(affinity: Affinity | None, wanted: NodeAffinity) -> Iterator[Add]:
    """Return the operations on a pod that AND `required` into its terms and append `preferred`, each once."""
    existing = affinity.node_affinity if affinity else None
    absent: dict[str, Any] = {}
    if wanted.required:
        if existing is None or existing.required is None:
            absent[_REQUIRED] = {"nodeSelectorTerms": [{"matchExpressions": wanted.required}]}
        else:
            yield from _narrow(existing.required.node_selector_terms or (), wanted.required)
    if wanted.preferred:
        if existing is None or existing.preferred is None:
            absent[_PREFERRED] = [_term(preferred) for preferred in wanted.preferred]
        else:
            yield from _append(existing.preferred, wanted.preferred)
    yield from _create(affinity, absent)


def _create(affinity: Affinity | None, absent: dict[str, Any]) -> Iterator[Add]:
    if not absent:
        return
    if affinity is None:
        yield Add(path="/spec/affinity", value={"nodeAffinity": absent})
    elif affinity.node_affinity is None:
        yield Add(path="/spec/affinity/nodeAffinity", value=absent)
    else:
        for field, value in absent.items():
            yield Add(path=pointer("spec", "affinity", "nodeAffinity", field), value=value)


def _narrow(terms: Sequence[NodeSelectorTerm], wanted: Sequence[NodeSelectorRequirement]) -> Iterator[Add]:
    for index, term in enumerate(terms):
        if term.is_empty:
            continue
        lacking = [requirement for requirement in wanted if _lacks(term, requirement)]
        path = pointer(
            "spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms", index, "matchExpressions"
        )
        if term.match_expressions is None and lacking:
            yield Add(path=path, value=lacking)
        else:
            for requirement in lacking:
                yield Add(path=f"{path}/-", value=requirement)


def _append(
    existing: Sequence[PreferredSchedulingTerm], wanted: Iterable[PreferredRequirement]
) -> Iterator[Add]:
    for preferred in wanted:
        if not any(_prefers(term, preferred) for term in existing):
            yield Add(
                path=pointer("spec", "affinity", "nodeAffinity", _PREFERRED, "-"), value=_term(preferred)
            )


def _term(preferred: PreferredRequirement) -> dict[str, Any]:
    return {"weight": preferred.weight, "preference": {"matchExpressions": [preferred.requirement]}}


def _prefers(term: PreferredSchedulingTerm, wanted: PreferredRequirement) -> bool:
    preference = term.preference
    return (
        term.weight == wanted.weight
        and preference is not None
        and not preference.match_fields
        and len(preference.match_expressions or ()) == 1
        and not _lacks(preference, wanted)
    )


def _lacks(term: NodeSelectorTerm, wanted: NodeSelectorRequirement) -> bool:
    return not any(_same(expression, wanted) for expression in term.match_expressions or ())


def _same(expression: Requirement, wanted: NodeSelectorRequirement) -> bool:
    return (
        expression.key == wanted.key
        and expression.operator == wanted.operator
        and set(expression.values or ()) == set(wanted.values)
    )
