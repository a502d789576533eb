"""How much a pod asks of a node, container by container.

Per resource: the larger of what runs together (containers and sidecars) and of each init container with
the sidecars started before it; then the pod-level requests replace what they name; then the overhead.
Source: k8s.io/component-helpers/resource/helpers.go (PodRequests) and kube-scheduler's PodInfo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webhook.scheduling.objects import Container, ContainerStatus, Pod, ResourceList
from webhook.scheduling.quantity import NANOS, ceil_milli, ceil_units, parse_nanos

__all__ = [
    "CPU",
    "DEFAULT_CPU_MILLI",
    "DEFAULT_MEMORY_BYTES",
    "EPHEMERAL_STORAGE",
    "MEMORY",
    "PODS",
    "PlacedRequests",
    "amounts",
    "balancing_requests",
    "incoming_requests",
    "is_scalar",
    "placed_requests",
    "scoring_requests",
]

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

# What a container without a request counts as when nodes are scored (pkg/scheduler/util/pod_resources.go).
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024

_Nanos = dict[str, int]
_DEFAULTS: Mapping[str, int] = {
    CPU: DEFAULT_CPU_MILLI * NANOS // 1000,
    MEMORY: DEFAULT_MEMORY_BYTES * NANOS,
}
_NO_DEFAULTS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class PlacedRequests:
    """What a pod with a node holds there.

    `amounts` by resource: millicores for cpu, whole units for all others. `nonzero_cpu` and
    `nonzero_memory` are the same with defaults for containers that request none, for scoring.
    """

    amounts: dict[str, int]
    nonzero_cpu: int
    nonzero_memory: int


def incoming_requests(pod: Pod) -> dict[str, int]:
    """Return what a pod without a node needs in order to fit."""
    return amounts(_with_pod_level(pod, _sum(pod, _spec_requests)))


def scoring_requests(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesFit counts for the incoming pod when it scores.

    With defaults for containers that request nothing, and without the pod-level requests: kube-scheduler
    1.37 leaves them out there (NewFit does not hand the feature on to its scorer).
    """
    return amounts(_with_overhead(pod, _sum(pod, _spec_requests, _DEFAULTS)))


def balancing_requests(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesBalancedAllocation counts for the incoming pod: no defaults, status included."""
    return amounts(_granted(pod, _NO_DEFAULTS))


def placed_requests(pod: Pod) -> PlacedRequests:
    """Return what a pod with a node holds: the largest of spec, allocated and actual, per resource.

    A resize that the node can't ever grant (PodResizePending, reason Infeasible) doesn't count.
    """
    held = _granted(pod, _NO_DEFAULTS)
    defaults = _DEFAULTS
    if _has_pod_level_requests(pod):
        defaults = {name: amount for name, amount in _DEFAULTS.items() if name not in held}
    nonzero = _granted(pod, defaults) if defaults else held
    return PlacedRequests(
        amounts=amounts(held),
        nonzero_cpu=ceil_milli(nonzero.get(CPU, 0)),
        nonzero_memory=ceil_units(nonzero.get(MEMORY, 0)),
    )


def amounts(nanos: Mapping[str, int]) -> dict[str, int]:
    """Return rounded amounts of the resources that nodes account for; names that aren't resources are dropped."""
    rounded = {}
    for name, value in nanos.items():
        if name == CPU:
            rounded[name] = ceil_milli(value)
        elif name in {MEMORY, EPHEMERAL_STORAGE} or is_scalar(name):
            rounded[name] = ceil_units(value)
    return rounded


def is_scalar(name: str) -> bool:
    """Tell whether the name is an extended resource, huge pages or another scalar that pods may request."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


# From a container's requests in the spec (None where they can't count) and its status: what counts.
_Pick = Callable[[ResourceList | None, ContainerStatus | None], ResourceList | None]


def _spec_requests(spec: ResourceList | None, _status: ContainerStatus | None) -> ResourceList | None:
    return spec


def _allocated_requests(spec: ResourceList | None, status: ContainerStatus | None) -> ResourceList | None:
    if status is not None and status.allocated_resources is not None:
        return status.allocated_resources
    return spec


def _actual_requests(spec: ResourceList | None, status: ContainerStatus | None) -> ResourceList | None:
    if status is not None and status.resources is not None and status.resources.requests:
        return status.resources.requests
    return _allocated_requests(spec, status)


def _sum(
    pod: Pod,
    pick: _Pick,
    defaults: Mapping[str, int] = _NO_DEFAULTS,
    statuses: Mapping[str, ContainerStatus] | None = None,
    *,
    spec_counts: bool = True,
) -> _Nanos:
    statuses = statuses or {}

    def of(container: Container) -> _Nanos:
        spec = container.resources.requests if spec_counts else None
        return {**defaults, **_parsed(pick(spec, statuses.get(container.name)) or {})}

    together: _Nanos = {}
    for container in pod.containers:
        _add(together, of(container))
    sidecars: _Nanos = {}
    initial: _Nanos = {}
    for container in pod.spec.init_containers:
        needs = of(container)
        if container.is_sidecar:
            _add(together, needs)
            _add(sidecars, needs)
        else:
            _add(needs, sidecars)
            _raise_to(initial, needs)
    _raise_to(together, initial)
    return together


def _granted(pod: Pod, defaults: Mapping[str, int]) -> _Nanos:
    """Add up the containers with their statuses, then pod level and overhead."""
    infeasible = _resize_is_infeasible(pod)
    statuses = {
        status.name: status
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    }
    wanted = _sum(pod, _spec_requests, defaults)
    if not (statuses or infeasible or pod.status.resources or pod.status.allocated_resources):
        return _with_pod_level(pod, wanted)
    pod_actual = pod.status.resources.requests if pod.status.resources is not None else None
    if pod.status.allocated_resources is not None and pod_actual:
        allocated, actual = _parsed(pod.status.allocated_resources), _parsed(pod_actual)
    else:
        allocated = _sum(pod, _allocated_requests, defaults, statuses, spec_counts=not infeasible)
        actual = _sum(pod, _actual_requests, defaults, statuses, spec_counts=not infeasible)
    result = {} if infeasible else wanted
    _raise_to(result, allocated)
    _raise_to(result, actual)
    return _with_pod_level(pod, result, use_status=True, infeasible=infeasible)


def _with_pod_level(
    pod: Pod, result: _Nanos, *, use_status: bool = False, infeasible: bool = False
) -> _Nanos:
    if pod.spec.resources is not None and _has_pod_level_requests(pod):
        level = _parsed(pod.spec.resources.requests)
        if use_status and pod.status.resources is not None:
            level = {} if infeasible else level
            _raise_to(level, _parsed(pod.status.resources.requests))
            _raise_to(level, _parsed(pod.status.allocated_resources or {}))
        result.update({name: value for name, value in level.items() if _is_pod_level(name)})
    return _with_overhead(pod, result)


def _with_overhead(pod: Pod, result: _Nanos) -> _Nanos:
    _add(result, _parsed(pod.spec.overhead))
    return result


def _has_pod_level_requests(pod: Pod) -> bool:
    return pod.spec.resources is not None and any(map(_is_pod_level, pod.spec.resources.requests))


def _is_pod_level(name: str) -> bool:
    return name in {CPU, MEMORY} or name.startswith("hugepages-")


def _resize_is_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _parsed(resources: ResourceList) -> _Nanos:
    return {name: parse_nanos(value) for name, value in resources.items()}


def _add(total: _Nanos, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: _Nanos, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        if value > total.get(name, -1):
            total[name] = value
