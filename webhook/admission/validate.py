"""The label rules on pods and on workloads' templates, and the final state of pods that opted in themselves."""

from __future__ import annotations

from shlex import quote

from msgspec.structs import replace

from webhook.admission.labels import Place, broken_rules
from webhook.admission.objects import POD, WORKLOADS
from webhook.admission.placement import opt_in
from webhook.admission.probe import probe_fault
from webhook.admission.review import Review
from webhook.admission.scope import is_mirror_of_node, out_of_scope
from webhook.admission.verdict import Fault, Verdict, softened
from webhook.admission.verify import placement_faults
from webhook.admission.wording import manifest
from webhook.admission.workloads import template_faults
from webhook.policy import wording
from webhook.policy.model import Policy
from webhook.policy.names import OPTED_IN

__all__ = ["as_warning", "validate"]

_KINDS = frozenset({POD, *WORKLOADS})


def validate(review: Review, policy: Policy) -> Verdict:
    """Return the verdict on a pod or a workload; on UPDATE only what it newly breaks counts.

    The final state is checked where the pod carries the opt-in label: whether a namespace opted in is known only
    to the API server, which then asks for `verify`.
    """
    if fault := probe_fault(review):
        return Verdict(policy=policy.name, faults=(fault,))
    if verdict := out_of_scope(review, policy, _KINDS):
        return verdict
    if review.group_kind != POD:
        faults = template_faults(review, policy)
    else:
        faults = _label_faults(review, policy)
        if opt_in(review) == OPTED_IN:
            faults += placement_faults(review, policy)
    return Verdict(policy=policy.name, faults=faults)


def as_warning(verdict: Verdict) -> Verdict:
    """Return the same verdict with every denial turned into a warning."""
    return replace(verdict, faults=softened(verdict.faults))


def _label_faults(review: Review, policy: Policy) -> tuple[Fault, ...]:
    # A terminating pod must be able to lose its finalizers whatever its labels; a kubelet can't label a mirror pod.
    if review.subject.is_terminating or is_mirror_of_node(review):
        return ()
    before = review.replaced.labels if review.replaced else None

    def set_it(field: str, _key: str) -> str:
        return wording.SET_LABEL.format(field=field, where=manifest(review))

    def keep_it(_field: str, key: str) -> str:
        # An update is only refused where the old value was fine.
        value = (before or {}).get(key, "")
        name, namespace = quote(review.display_name), quote(review.namespace or "default")
        return wording.KEEP_LABEL.format(name=name, namespace=namespace, key=key, value=quote(value))

    place = Place(path="metadata.labels", remedy=set_it if before is None else keep_it)
    return broken_rules(policy, review.subject.labels, before=before, place=place)
