"""Groups and users that a policy may not exempt: they are controllers, nodes, or everyone.

Pods are created by controllers. Exempt a controller, and what any user asks of that controller is exempt.
Source of the names: k8s.io/apiserver pkg/authentication/user, pkg/authentication/serviceaccount, and k8s.io/kubernetes
plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go.
"""

from __future__ import annotations

from webhook.policy.names import CONTROLLER_MANAGER

__all__ = ["why_group_not_exempt", "why_user_not_exempt"]

_GROUPS = {
    "system:serviceaccounts": "it holds every controller, and so would exempt every pod that one creates",
    "system:authenticated": "it holds every user and every controller",
    "system:unauthenticated": "it holds everyone who shows no credentials",
    "system:nodes": "it holds every kubelet, and the mirror pods that they create pass anyway",
    # Some installers give the controller manager's certificate this organization.
    CONTROLLER_MANAGER: "it holds the controllers, and so would exempt every pod that one creates",
}
_NAMESPACE_ACCOUNTS = "system:serviceaccounts:"

# Of the built-in controllers those that create pods, or workloads that others make pods from.
_CONTROLLERS = frozenset(
    f"system:serviceaccount:kube-system:{kind}-controller"
    for kind in ("cronjob", "daemon-set", "deployment", "job", "replicaset", "replication", "statefulset")
)


def why_group_not_exempt(group: str) -> str | None:
    """Return why `group` can't be exempt, or None if it can."""
    if group.startswith(_NAMESPACE_ACCOUNTS):
        # kube-system's holds the built-in controllers; any other's grows with each account made there.
        return "it holds the controllers of its namespace, and whatever account is made there later; name the users"
    return _GROUPS.get(group)


def why_user_not_exempt(user: str) -> str | None:
    """Return why `user` can't be exempt, or None if it can."""
    if user in _CONTROLLERS or user == CONTROLLER_MANAGER:
        return "it is a controller, which creates pods for whoever asks"
    return None
