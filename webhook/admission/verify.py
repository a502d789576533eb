"""The final state of a pod that opted in: whether it is steered, after every mutating webhook has had its turn."""

from __future__ import annotations

from webhook.admission.affinity import REQUIRED_FIELD, lacking_requirements
from webhook.admission.objects import POD, Spec
from webhook.admission.placement import another_scheduler, is_daemon, opt_in
from webhook.admission.review import Review
from webhook.admission.scope import is_mirror_of_node, out_of_scope
from webhook.admission.verdict import CauseReason, Fault, Verdict
from webhook.admission.wording import manifest, shown
from webhook.policy import wording
from webhook.policy.model import Action, Policy
from webhook.policy.names import DECLINED

__all__ = ["placement_faults", "verify"]


def verify(review: Review, policy: Policy) -> Verdict:
    """Return the verdict on the final state of a pod that opted in, by its own label or its namespace's."""
    if verdict := out_of_scope(review, policy, (POD,)):
        return verdict
    return Verdict(policy=policy.name, faults=placement_faults(review, policy))


def placement_faults(review: Review, policy: Policy) -> tuple[Fault, ...]:
    """Return what keeps the pod under review, which opted in, from being placed as the policy says.

    Only a new pod is looked at: later, its node is set and its scheduler's name can't change.
    """
    mode = policy.placement.verify
    spec = review.subject.spec
    if mode == "Off" or spec is None or review.operation != "CREATE" or opt_in(review) == DECLINED:
        return ()
    if is_mirror_of_node(review) or is_daemon(review):
        return ()
    if another_scheduler(spec, policy) and policy.placement.other_scheduler == "Respect":
        return ()
    fault = _deviation(review, spec, policy, mode)
    return (fault,) if fault else ()


def _deviation(review: Review, spec: Spec, policy: Policy, action: Action) -> Fault | None:
    # The first that is found explains the others: a pod with a node isn't steered, and so has no affinity of ours.
    ours = policy.placement.scheduler_name
    where = manifest(review)
    if spec.node_name:
        return _fault(
            action,
            field="spec.nodeName",
            found=wording.NODE_FOUND.format(value=shown(spec.node_name)),
            remedy=wording.NODE_REMEDY.format(where=where, ours=ours),
            reason="FieldValueForbidden",
        )
    if spec.scheduler_name != ours:
        other = another_scheduler(spec, policy)
        return _fault(
            action,
            field="spec.schedulerName",
            found=wording.SCHEDULER_FOUND.format(value=shown(spec.scheduler_name or "")),
            remedy=wording.SCHEDULER_REMEDY.format(
                ours=ours, mend=wording.REMOVE_IT.format(where=where) if other else wording.TRY_AGAIN
            ),
            reason="FieldValueNotSupported",
        )
    lacking = lacking_requirements(spec.affinity, policy.placement.node_affinity.required)
    if lacking:
        return _fault(
            action,
            field=REQUIRED_FIELD,
            found=wording.AFFINITY_FOUND.format(lacking="; ".join(map(str, lacking))),
            remedy=wording.AFFINITY_REMEDY,
            reason="FieldValueInvalid",
        )
    return None


def _fault(action: Action, *, field: str, found: str, remedy: str, reason: CauseReason) -> Fault:
    return Fault(
        action=action,
        rule="spec.placement.verify",
        summary=wording.NOT_STEERED.format(found=found),
        remedy=remedy,
        field=field,
        reason=reason,
    )
