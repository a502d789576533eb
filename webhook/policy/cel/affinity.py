"""Node affinity in CEL: what a pod's terms lack of the policy's requirements. See `webhook.admission.affinity`."""

from __future__ import annotations

from webhook.policy.cel.expression import Expression, Variable, listed, literal
from webhook.policy.model import NodeSelectorRequirement

__all__ = ["HAS_SELECTOR", "MATCHES_SOMETHING", "PREFERRED", "REQUIRED", "TERMS", "lacks", "same"]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_SELECTOR = f"object.spec.?affinity.?nodeAffinity.?{REQUIRED}"

HAS_SELECTOR = Expression(f"{_SELECTOR}.hasValue()")
TERMS = Variable(name="terms", expression=f"{_SELECTOR}.?nodeSelectorTerms.orValue([])")
# A term `t` without requirements matches no node, and is left so.
MATCHES_SOMETHING = Expression("size(t.?matchExpressions.orValue([])) + size(t.?matchFields.orValue([])) > 0")


def lacks(term: str, wanted: NodeSelectorRequirement) -> Expression:
    """Whether none of the term's expressions is the wanted one."""
    return Expression(f"!{term}.?matchExpressions.orValue([]).exists(e, {same(wanted)})")


def same(wanted: NodeSelectorRequirement) -> Expression:
    """Whether the expression `e` is the wanted one; the order of its values doesn't matter."""
    values = listed(map(literal, wanted.values))
    return Expression(
        f"e.key == {literal(wanted.key)} && e.operator == {literal(wanted.operator)} && "
        f"sets.equivalent(e.?values.orValue([]), {values})"
    )
