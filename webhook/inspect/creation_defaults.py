"""What admission in the API server adds to a new pod from other objects: LimitRanges and PriorityClasses.

Source: plugin/pkg/admission/limitranger and plugin/pkg/admission/priority of Kubernetes. Only what they fill in is
there, not what they refuse by their limits.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from webhook.errors import ConfigurationError
from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects import Container, Pod, PodSpec, ResourceList

__all__ = ["CreationDefaults", "LimitRange", "PriorityClass"]

_replace = msgspec.structs.replace

# Every cluster has them, so a snapshot need not (pkg/apis/scheduling/v1/helpers.go).
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    pass


class _Limit(_Object, frozen=True, kw_only=True):
    type: str = ""
    default: ResourceList | None = None
    default_request: ResourceList | None = None


class _Limits(_Object, frozen=True, kw_only=True):
    limits: tuple[_Limit, ...] | None = None


class LimitRange(_Object, frozen=True, kw_only=True):
    """What containers of a namespace get that say nothing themselves; the API server has filled in its own defaults."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Limits = _Limits()


class PriorityClass(_Object, frozen=True, kw_only=True):
    """A priority by name."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


_Item: TypeAlias = LimitRange | PriorityClass


class CreationDefaults:
    """The LimitRanges and PriorityClasses of a cluster; without any of the latter, they are taken to be unknown."""

    def __init__(self) -> None:
        self._limit_ranges: dict[str, list[LimitRange]] = {}
        self._classes: dict[str, PriorityClass] = {}

    def put(self, item: _Item) -> None:
        """Take in an object."""
        if isinstance(item, LimitRange):
            self._limit_ranges.setdefault(item.metadata.namespace, []).append(item)
        else:
            self._classes[item.metadata.name] = item

    def apply(self, pod: Pod) -> Pod:
        """Return the new pod with what they add; raises ConfigurationError for a PriorityClass that isn't there."""
        spec = self._with_priority(pod.spec)
        for limit_range in self._limit_ranges.get(pod.metadata.namespace, ()):
            spec = _replace(
                spec,
                containers=tuple(_limited(each, limit_range) for each in spec.containers or ()),
                init_containers=tuple(_limited(each, limit_range) for each in spec.init_containers),
            )
        return _replace(pod, spec=spec)

    def _with_priority(self, spec: PodSpec) -> PodSpec:
        name = spec.priority_class_name
        found = self._classes.get(name) if name else self._default_class()
        if found is not None:
            policy = found.preemption_policy or spec.preemption_policy
            return _replace(spec, priority=found.value, preemption_policy=policy)
        if name in _SYSTEM_PRIORITIES:
            return _replace(spec, priority=_SYSTEM_PRIORITIES[name])
        if name and self._classes:
            known = ", ".join(sorted(self._classes))
            raise ConfigurationError(f"no PriorityClass with name {name} was found; there are: {known}")
        return spec

    def _default_class(self) -> PriorityClass | None:
        """Return the class for pods that name none; of several the lowest."""
        defaults = [each for each in self._classes.values() if each.global_default]
        return min(defaults, key=lambda each: each.value, default=None)


def _limited(container: Container, limit_range: LimitRange) -> Container:
    resources = container.resources
    limits, requests = dict(resources.limits), dict(resources.requests)
    of_containers = [limit for limit in limit_range.spec.limits or () if limit.type == "Container"]
    # Of several entries for one resource the last one holds.
    for limit in reversed(of_containers):
        limits = {**(limit.default or {}), **limits}
        requests = {**(limit.default_request or {}), **requests}
    return _replace(container, resources=_replace(resources, limits=limits, requests=requests))
