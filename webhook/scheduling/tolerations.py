"""Which taints a pod bears. Source: k8s.io/api/core/v1/toleration.go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.scheduling.objects import Taint, Toleration

__all__ = ["excluded_by", "tolerates"]

_EXCLUDING = frozenset({"NoSchedule", "NoExecute"})


def excluded_by(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Tell whether one of the taints keeps pods with these tolerations off the node."""
    return any(taint.effect in _EXCLUDING and not tolerates(tolerations, taint) for taint in taints)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Tell whether one of the tolerations covers the taint."""
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
