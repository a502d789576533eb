"""What a policy's placement means for one pod, the same for steering it and for checking its final state."""

from __future__ import annotations

from webhook.admission.objects import Spec
from webhook.admission.review import Review
from webhook.policy.model import Policy
from webhook.policy.names import (
    CONTROLLER_MANAGER,
    DAEMON_SET_CONTROLLER,
    DEFAULT_SCHEDULER,
    OPT_IN_LABEL,
)

__all__ = ["another_scheduler", "is_daemon", "opt_in"]


def opt_in(review: Review) -> str | None:
    """Return the value of the pod's opt-in label."""
    return review.subject.labels.get(OPT_IN_LABEL)


def is_daemon(review: Review) -> bool:
    """Tell whether the daemon-set-controller made the pod, and so pinned it to a node.

    The requester decides, since anyone can write an owner reference.
    """
    if review.user_info.username == DAEMON_SET_CONTROLLER:
        return True
    owner = review.subject.controller
    return review.user_info.username == CONTROLLER_MANAGER and owner is not None and owner.kind == "DaemonSet"


def another_scheduler(spec: Spec, policy: Policy) -> str | None:
    """Return the scheduler that the pod asks for, where it is neither ours nor the default."""
    name = spec.scheduler_name
    return name if name and name not in (DEFAULT_SCHEDULER, policy.placement.scheduler_name) else None
