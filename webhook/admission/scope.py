"""Which requests are judged at all."""

from __future__ import annotations

from collections.abc import Container

from webhook.admission.objects import Kind
from webhook.admission.review import Review
from webhook.admission.verdict import Verdict
from webhook.policy.model import Policy
from webhook.policy.names import MIRROR_ANNOTATION, NODE_GROUP, NODE_USER_PREFIX

__all__ = ["is_mirror", "is_mirror_of_node", "out_of_scope"]

_KIND_LENGTH = 50


def out_of_scope(review: Review, policy: Policy, kinds: Container[Kind]) -> Verdict | None:
    """Return the verdict on a request that is allowed unseen, or None for one that is to be judged.

    `kinds` are those that the caller judges; another means that the webhook's rules are too broad.
    """
    if review.sub_resource:
        # The body of pods/binding is a Binding, that of pods/eviction an Eviction.
        return Verdict(policy=policy.name)
    if review.group_kind not in kinds:
        return Verdict(policy=policy.name, notes=(_too_broad(review),))
    if review.operation not in ("CREATE", "UPDATE"):
        return Verdict(policy=policy.name)
    if exempt_by := _exemption(review, policy):
        return Verdict(policy=policy.name, exempt_by=exempt_by)
    return None


def is_mirror(review: Review) -> bool:
    """Tell whether the pod says that it shows a static pod of some kubelet."""
    return MIRROR_ANNOTATION in review.subject.annotations


def is_mirror_of_node(review: Review) -> bool:
    """Tell whether a kubelet shows one of its static pods, which it can't mend; from others it is no excuse."""
    return (
        is_mirror(review)
        and review.user_info.username.startswith(NODE_USER_PREFIX)
        and NODE_GROUP in review.groups
    )


def _exemption(review: Review, policy: Policy) -> str | None:
    exempt = policy.exempt
    if review.namespace in exempt.namespaces:
        return "spec.exempt.namespaces"
    if review.user_info.username in exempt.users:
        return "spec.exempt.users"
    if not exempt.groups.isdisjoint(review.groups):
        return "spec.exempt.groups"
    return None


def _too_broad(review: Review) -> str:
    return f"custom-scheduler judges no {review.kind.kind[:_KIND_LENGTH]}: the rules of its webhook are too broad"
