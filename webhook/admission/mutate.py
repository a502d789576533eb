"""Steering: the patch that sends a pod that opted in to our scheduler and its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from webhook.admission.affinity import add_node_affinity
from webhook.admission.objects import POD, Metadata, Spec
from webhook.admission.objects import Toleration as PodToleration
from webhook.admission.patch import Add, pointer
from webhook.admission.placement import another_scheduler, is_daemon, opt_in
from webhook.admission.review import Review
from webhook.admission.scope import is_mirror, out_of_scope
from webhook.admission.verdict import Fault, Verdict
from webhook.admission.wording import manifest, shown
from webhook.policy import wording
from webhook.policy.model import Policy, Toleration
from webhook.policy.names import DECLINED, OPTED_IN, PLACED_BY_ANNOTATION

__all__ = ["OptedInBy", "mutate"]

# Which of the API server's selectors matched: that on the pod's label, or that on its namespace's.
OptedInBy = Literal["pod", "namespace"]


def mutate(review: Review, policy: Policy, *, opted_in_by: OptedInBy) -> Verdict:
    """Return the smallest patch that steers the pod under review, if it opted in and can be steered.

    Nothing is added that is there already, so a second call, or one after another webhook's, changes nothing.
    """
    if verdict := out_of_scope(review, policy, (POD,)):
        return verdict
    untouched = Verdict(policy=policy.name)
    metadata, spec = review.subject.metadata, review.subject.spec
    if metadata is None or spec is None or not _can_be_steered(review, spec, opted_in_by):
        return untouched
    if other := another_scheduler(spec, policy):
        if policy.placement.other_scheduler == "Respect":
            return untouched
        if policy.placement.other_scheduler == "Deny":
            return Verdict(policy=policy.name, faults=(_refuse(review, policy, other),))
    return Verdict(policy=policy.name, patch=tuple(_steer(metadata, spec, policy)))


def _can_be_steered(review: Review, spec: Spec, opted_in_by: OptedInBy) -> bool:
    label = opt_in(review)
    opted_in = label == OPTED_IN if opted_in_by == "pod" else label != DECLINED
    return (
        opted_in
        and review.operation == "CREATE"  # later, most of what we would set can't be changed
        and not spec.node_name
        and not is_mirror(review)
        and not is_daemon(review)
    )


def _steer(metadata: Metadata, spec: Spec, policy: Policy) -> Iterator[Add]:
    placement = policy.placement
    if spec.scheduler_name != placement.scheduler_name:
        yield Add(path="/spec/schedulerName", value=placement.scheduler_name)
    yield from add_node_affinity(spec.affinity, placement.node_affinity)
    yield from _tolerate(spec.tolerations, placement.tolerations)
    if metadata.annotations is None:
        yield Add(path="/metadata/annotations", value={PLACED_BY_ANNOTATION: policy.name})
    elif metadata.annotations.get(PLACED_BY_ANNOTATION) != policy.name:
        yield Add(path=pointer("metadata", "annotations", PLACED_BY_ANNOTATION), value=policy.name)


def _tolerate(existing: Sequence[PodToleration] | None, wanted: Sequence[Toleration]) -> Iterator[Add]:
    if existing is None:
        if wanted:
            yield Add(path="/spec/tolerations", value=wanted)
        return
    for toleration in wanted:
        if not any(_same(other, toleration) for other in existing):
            yield Add(path="/spec/tolerations/-", value=toleration)


def _same(existing: PodToleration, wanted: Toleration) -> bool:
    return (
        (existing.key or "") == wanted.key
        and (existing.operator or "Equal") == wanted.operator
        and (existing.value or "") == wanted.value
        and (existing.effect or "") == wanted.effect
        and existing.toleration_seconds == wanted.toleration_seconds
    )


def _refuse(review: Review, policy: Policy, other: str) -> Fault:
    return Fault(
        action="Deny",
        rule="spec.placement.otherScheduler",
        summary=wording.OTHER_SCHEDULER.format(value=shown(other)),
        remedy=wording.OTHER_SCHEDULER_REMEDY.format(
            ours=policy.placement.scheduler_name, where=manifest(review)
        ),
        field="spec.schedulerName",
        reason="FieldValueNotSupported",
    )
