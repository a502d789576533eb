"""The probe that `doctor --prove` sends: a pod that is denied whatever the policy says."""

from __future__ import annotations

from webhook.admission.objects import POD
from webhook.admission.review import Review
from webhook.admission.verdict import Fault
from webhook.admission.wording import shown
from webhook.policy import wording
from webhook.policy.names import PROBE_ANNOTATION, PROBE_NAMESPACE

__all__ = ["probe_fault"]


def probe_fault(review: Review) -> Fault | None:
    """The denial of a probe pod, which repeats its nonce; None for every other request.

    No exemption spares it: that the person who asks is exempt must not look like a webhook that is not called.
    """
    if review.namespace != PROBE_NAMESPACE or review.group_kind != POD or review.sub_resource:
        return None
    nonce = review.subject.annotations.get(PROBE_ANNOTATION)
    if review.operation != "CREATE" or nonce is None:
        return None
    return Fault(
        action="Deny",
        rule="probe",
        summary=wording.PROBE_ANSWER.format(nonce=shown(nonce)),
        remedy=wording.PROBE_REMEDY,
        field=f"metadata.annotations[{PROBE_ANNOTATION}]",
        reason="FieldValueForbidden",
    )
