"""The pod templates of workloads: told to the developer at apply, not later in a ReplicaSet's events."""

from __future__ import annotations

from webhook.admission.labels import Place, broken_rules
from webhook.admission.objects import CRON_JOB, WORKLOADS, Kind, KubernetesObject, Template
from webhook.admission.review import Review
from webhook.admission.verdict import Fault, softened
from webhook.policy import wording
from webhook.policy.model import Policy

__all__ = ["template_faults"]


def template_faults(review: Review, policy: Policy) -> tuple[Fault, ...]:
    """Return the rules that a workload's pod template breaks, and on UPDATE newly breaks.

    An object that a controller manages is left alone: its owner's template was judged, and the Deployment
    controller scales ReplicaSets by plain UPDATE. Nobody escapes by forging an owner, since pods are judged too.
    """
    workload = review.subject
    template = _template(review.group_kind, review.object)
    if policy.workloads == "Off" or template is None or workload.controller or workload.is_terminating:
        return ()
    before = _template(review.group_kind, review.replaced)
    path = f"{WORKLOADS[review.group_kind]}.metadata.labels"
    owner = f"{review.kind.kind} {review.display_name}".rstrip()
    faults = broken_rules(
        policy,
        template.labels,
        before=before.labels if before else None,
        place=Place(
            path=path,
            within=wording.IN_OWNER.format(owner=owner),
            remedy=lambda field, _: wording.SET_LABEL.format(field=field, where=owner),
        ),
    )
    return softened(faults) if policy.workloads == "Warn" else faults


def _template(kind: Kind, workload: KubernetesObject | None) -> Template | None:
    spec = workload.spec if workload else None
    if spec and kind == CRON_JOB:
        spec = spec.job_template.spec if spec.job_template else None
    return spec.template if spec else None
