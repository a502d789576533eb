"""The rules of Kubernetes that decide where a pod may be, over plain objects; shared with nothing of the product."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any, TypeAlias

__all__ = [
    "Json",
    "deletion_asked",
    "has_affinity_to",
    "has_ended",
    "holds",
    "host_ports",
    "is_selected",
    "key_of",
    "labels_of",
    "namespace_of",
    "quantity",
    "requests_of",
    "seconds",
    "taints_of",
    "terms_of",
    "tolerates",
]

Json: TypeAlias = dict[str, Any]

_UNITS: dict[str, Fraction] = {
    "": Fraction(1),
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate(("m", "u", "n"), start=1)},
    **{unit: Fraction(1000**power) for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{
        unit: Fraction(1024**power)
        for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)
    },
}
_POD_LEVEL = ("cpu", "memory", "hugepages-")


def key_of(pod: Json) -> str:
    """Return `namespace/name` of a pod."""
    return f"{namespace_of(pod)}/{pod['metadata']['name']}"


def namespace_of(pod: Json) -> str:
    """Return the namespace of a pod."""
    namespace: str = pod["metadata"].get("namespace", "default")
    return namespace


def labels_of(obj: Json) -> dict[str, str]:
    """Return the labels of any object."""
    return obj["metadata"].get("labels") or {}


def has_ended(pod: Json) -> bool:
    """Tell whether a pod has run to its end, and so holds nothing."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def deletion_asked(pod: Json) -> float | None:
    """Return when deletion was asked for; deletionTimestamp is when the grace period ends."""
    ends = pod["metadata"].get("deletionTimestamp")
    return seconds(ends) - pod["metadata"].get("deletionGracePeriodSeconds", 0) if ends else None


def seconds(time: str) -> float:
    """Return a time of the API as seconds since the epoch."""
    return datetime.fromisoformat(time).timestamp()


def quantity(text: object) -> Fraction:
    """Return the number that a quantity such as `100m` or `2Gi` stands for."""
    number = str(text)
    unit = number.lstrip("+-.0123456789")
    if unit[:1] in ("e", "E") and unit[1:].lstrip("+-").isdecimal():
        return Fraction(number)
    return Fraction(number.removesuffix(unit)) * _UNITS[unit]


def requests_of(pod: Json) -> dict[str, Fraction]:
    """Return what the pod holds: beside each other what runs beside each other, and the most of what takes turns."""
    spec = pod["spec"]
    always: defaultdict[str, Fraction] = defaultdict(Fraction)
    peak: defaultdict[str, Fraction] = defaultdict(Fraction)
    for container in spec.get("initContainers", ()):
        wanted = _amounts(container.get("resources", {}))
        for name in wanted:
            peak[name] = max(peak[name], always[name] + wanted[name])
            if container.get("restartPolicy") == "Always":
                always[name] += wanted[name]
    for container in spec["containers"]:
        for name, amount in _amounts(container.get("resources", {})).items():
            always[name] += amount
    total = {name: max(always[name], peak[name]) for name in {*always, *peak}}
    own = _amounts(spec.get("resources", {}))
    total |= {name: amount for name, amount in own.items() if name.startswith(_POD_LEVEL)}
    for name, amount in spec.get("overhead", {}).items():
        total[name] = total.get(name, Fraction()) + quantity(amount)
    return total


def _amounts(resources: Json) -> dict[str, Fraction]:
    return {name: quantity(amount) for name, amount in resources.get("requests", {}).items()}


def host_ports(pod: Json) -> Iterator[tuple[str, str, int]]:
    """Yield protocol, address and port of what a pod takes on its node."""
    sidecars = [
        each for each in pod["spec"].get("initContainers", ()) if each.get("restartPolicy") == "Always"
    ]
    for container in (*pod["spec"]["containers"], *sidecars):
        for port in container.get("ports", ()):
            if port.get("hostPort"):
                yield port.get("protocol", "TCP"), port.get("hostIP") or "0.0.0.0", port["hostPort"]  # noqa: S104


def is_selected(pod: Json, node: Json) -> bool:
    """Tell whether a node has what the pod's nodeSelector asks for."""
    return (pod["spec"].get("nodeSelector") or {}).items() <= labels_of(node).items()


def has_affinity_to(pod: Json, node: Json) -> bool:
    """Tell whether a node has what the pod's required node affinity asks for."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_requires(each, labels_of(node)) for each in term.get("matchExpressions", ()))
        and all(_requires(each, fields) for each in term.get("matchFields", ()))
        for term in required["nodeSelectorTerms"]
    )


def taints_of(node: Json) -> list[Json]:
    """Return what keeps new pods off the node; a cordon counts as the taint that goes with it."""
    spec = node.get("spec", {})
    found = [taint for taint in spec.get("taints", ()) if taint["effect"] in ("NoSchedule", "NoExecute")]
    if spec.get("unschedulable"):
        found.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return found


def tolerates(pod: Json, taint: Json) -> bool:
    """Tell whether a pod bears a taint."""
    return any(
        each.get("effect", "") in ("", taint["effect"])
        and (
            each.get("key", "") == taint["key"] or (not each.get("key") and each.get("operator") == "Exists")
        )
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        for each in pod["spec"].get("tolerations", ())
    )


def terms_of(pod: Json, kind: str) -> list[Json]:
    """Return the required terms of `podAffinity` or `podAntiAffinity`."""
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    found: list[Json] = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return found


def holds(selector: Json, labels: dict[str, str]) -> bool:
    """Tell whether labels are what a label selector asks for."""
    return (selector.get("matchLabels") or {}).items() <= labels.items() and all(
        _requires(each, labels) for each in selector.get("matchExpressions") or ()
    )


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: value is not None and int(value) > int(values[0]),
    "Lt": lambda value, values: value is not None and int(value) < int(values[0]),
}


def _requires(requirement: Json, labels: dict[str, str]) -> bool:
    return _OPERATORS[requirement["operator"]](
        labels.get(requirement["key"]), requirement.get("values") or []
    )
