"""Steering in CEL: a JSON patch, since an apply configuration can't reach into the atomic list of terms.

See `webhook.admission.mutate`; each operation adds what is not there yet, and what stands beside it stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webhook.policy.cel import subject
from webhook.policy.cel.affinity import HAS_SELECTOR, MATCHES_SOMETHING, PREFERRED, REQUIRED, lacks, same
from webhook.policy.cel.expression import literal, object_literal
from webhook.policy.model import (
    NodeAffinity,
    NodeSelectorRequirement,
    Policy,
    PreferredRequirement,
    Toleration,
)
from webhook.policy.names import PLACED_BY_ANNOTATION

__all__ = ["CAN_BE_STEERED", "steering_conditions", "steering_patch"]

_AFFINITY = "/spec/affinity/nodeAffinity"
_TERMS = f"{_AFFINITY}/{REQUIRED}/nodeSelectorTerms"
_AFFINITY_KIND = "Object.spec.affinity.nodeAffinity"


# The conditions, by name, under which the opt-in of a new pod counts.
CAN_BE_STEERED = {
    "has-no-node": f'{subject.NODE_NAME} == ""',
    "is-no-mirror": f"!({subject.IS_MIRROR})",
    "is-no-daemon": f"!{subject.IS_DAEMON}",
}


def steering_conditions(policy: Policy) -> dict[str, str]:
    """The conditions, by name, under which a pod that opted in is steered."""
    if policy.placement.other_scheduler == "Override":
        return CAN_BE_STEERED
    return {**CAN_BE_STEERED, "names-no-other-scheduler": f"!{subject.another_scheduler(policy)}"}


def steering_patch(policy: Policy) -> str:
    """The expression of the patch; its operations in the order in which the webhook writes them."""
    placement = policy.placement
    parts = [
        _unless(
            f"{subject.SCHEDULER_NAME} == {literal(placement.scheduler_name)}",
            _add(literal("/spec/schedulerName"), literal(placement.scheduler_name)),
        ),
        *_node_affinity(placement.node_affinity),
        *_tolerations(placement.tolerations),
        *_annotation(policy.name),
    ]
    return " +\n".join(parts)


def _node_affinity(wanted: NodeAffinity) -> Iterator[str]:
    if wanted.required or wanted.preferred:
        yield _unless("has(object.spec.affinity)", _add(literal("/spec/affinity"), "Object.spec.affinity{}"))
        yield _unless(
            "object.spec.?affinity.?nodeAffinity.hasValue()",
            _add(literal(_AFFINITY), f"{_AFFINITY_KIND}{{}}"),
        )
    if wanted.required:
        yield from _required(wanted.required)
    if wanted.preferred:
        yield from _preferred(wanted.preferred)


def _required(wanted: tuple[NodeSelectorRequirement, ...]) -> Iterator[str]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": msgspec.to_builtins(wanted)}]}
    yield _unless(
        HAS_SELECTOR,
        _add(literal(f"{_AFFINITY}/{REQUIRED}"), object_literal(f"{_AFFINITY_KIND}.{REQUIRED}", selector)),
    )
    expressions = f'{literal(f"{_TERMS}/")} + string(i) + "/matchExpressions'
    yield _in_each_term("!has(t.matchExpressions)", _add(f'{expressions}"', "[]"))
    kind = f"{_AFFINITY_KIND}.{REQUIRED}.nodeSelectorTerms.matchExpressions"
    for requirement in wanted:
        value = object_literal(kind, msgspec.to_builtins(requirement))
        yield _in_each_term(lacks("t", requirement), _add(f'{expressions}/-"', value))


def _preferred(wanted: tuple[PreferredRequirement, ...]) -> Iterator[str]:
    existing = f"object.spec.?affinity.?nodeAffinity.?{PREFERRED}"
    yield _unless(f"{existing}.hasValue()", _add(literal(f"{_AFFINITY}/{PREFERRED}"), "[]"))
    for preferred in wanted:
        term = {
            "weight": preferred.weight,
            "preference": {"matchExpressions": [msgspec.to_builtins(preferred.requirement)]},
        }
        alike = (
            f"p.weight == {preferred.weight} && size(p.preference.?matchFields.orValue([])) == 0 && "
            f"size(p.preference.?matchExpressions.orValue([])) == 1 && "
            f"p.preference.matchExpressions.exists(e, {same(preferred)})"
        )
        yield _unless(
            f"{existing}.orValue([]).exists(p, {alike})",
            _add(
                literal(f"{_AFFINITY}/{PREFERRED}/-"), object_literal(f"{_AFFINITY_KIND}.{PREFERRED}", term)
            ),
        )


def _tolerations(wanted: tuple[Toleration, ...]) -> Iterator[str]:
    if not wanted:
        return
    yield _unless("has(object.spec.tolerations)", _add(literal("/spec/tolerations"), "[]"))
    for toleration in wanted:
        seconds = toleration.toleration_seconds
        alike = (
            f't.?key.orValue("") == {literal(toleration.key)} && '
            f't.?operator.orValue("Equal") == {literal(toleration.operator)} && '
            f't.?value.orValue("") == {literal(toleration.value)} && '
            f't.?effect.orValue("") == {literal(toleration.effect)} && '
            + (
                "!has(t.tolerationSeconds)"
                if seconds is None
                else f"t.?tolerationSeconds == optional.of({seconds})"
            )
        )
        yield _unless(
            f"object.spec.?tolerations.orValue([]).exists(t, {alike})",
            _add(
                literal("/spec/tolerations/-"),
                object_literal("Object.spec.tolerations", msgspec.to_builtins(toleration)),
            ),
        )


def _annotation(policy: str) -> Iterator[str]:
    key, value = literal(PLACED_BY_ANNOTATION), literal(policy)
    annotations = "object.metadata.?annotations"
    # Where there are none, the first operation has made them whole.
    yield _unless(f"{annotations}.hasValue()", _add(literal("/metadata/annotations"), f"{{{key}: {value}}}"))
    yield _unless(
        f'{annotations}.orValue({{{key}: {value}}})[?{key}].orValue("") == {value}',
        _add(f'"/metadata/annotations/" + jsonpatch.escapeKey({key})', value),
    )


def _add(path: str, value: str) -> str:
    return f'JSONPatch{{op: "add", path: {path}, value: {value}}}'


def _unless(condition: str, operation: str) -> str:
    return f"({condition} ? [] : [{operation}])"


def _in_each_term(condition: str, operation: str) -> str:
    return f"variables.terms.transformList(i, t, {MATCHES_SOMETHING} && {condition}, {operation})"
