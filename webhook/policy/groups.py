"""Groups that a policy may not exempt: they hold controllers, nodes, or everyone.

Pods are created by controllers. Exempt a controller's group, and what any user asks that controller for is exempt.
Source of the groups: k8s.io/apiserver pkg/authentication/user and pkg/authentication/serviceaccount.
"""

from __future__ import annotations

__all__ = ["why_not_exempt"]

_REFUSED = {
    "system:serviceaccounts": "it holds every controller, and so would exempt every pod that one creates",
    "system:authenticated": "it holds every user and every controller",
    "system:unauthenticated": "it holds everyone who shows no credentials",
    "system:nodes": "it holds every kubelet, and the mirror pods that they create pass anyway",
}
_NAMESPACE_ACCOUNTS = "system:serviceaccounts:"


def why_not_exempt(group: str) -> str | None:
    """Return why `group` can't be exempt, or None if it can."""
    if group.startswith(_NAMESPACE_ACCOUNTS):
        # kube-system's holds the built-in controllers; any other's grows with each account made there.
        return "it holds the controllers of its namespace, and whatever account is made there later; name the users"
    return _REFUSED.get(group)
