"""Which taints a pod bears. Source: k8s.io/api/core/v1/toleration.go."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.scheduling.objects import Taint, Toleration

__all__ = ["tolerates"]


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            # Lt and Gt are behind a feature gate that is off in 1.37.
            return False
