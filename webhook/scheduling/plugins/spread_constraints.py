"""The constraints that PodTopologySpread applies to a pod: its own, or the defaults for pods that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import Pod, TopologySpreadConstraint
from webhook.scheduling.workloads import Workloads

__all__ = ["Constraint", "SpreadConstraints"]

_Action: TypeAlias = Literal["DoNotSchedule", "ScheduleAnyway"]
_Policy: TypeAlias = Literal["Honor", "Ignore"]
_Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class DefaultConstraint(_Args, frozen=True, kw_only=True):
    """A constraint for pods without any; which pods it counts is deduced for each."""

    max_skew: _Positive
    topology_key: Annotated[str, msgspec.Meta(min_length=1)]
    when_unsatisfiable: _Action
    min_domains: _Positive = 1
    node_affinity_policy: _Policy = "Honor"
    node_taints_policy: _Policy = "Ignore"


class SpreadArgs(_Args, frozen=True, kw_only=True):
    """The arguments, as in kube-scheduler."""

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"


_SYSTEM_DEFAULTS = (
    DefaultConstraint(max_skew=3, topology_key="kubernetes.io/hostname", when_unsatisfiable="ScheduleAnyway"),
    DefaultConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    ),
)


class Constraint(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint with its defaults filled in; pods of the same namespace that the selector matches count."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


class SpreadConstraints:
    """What holds for which pod, from the plugin's arguments; raises ConfigurationError for wrong ones."""

    def __init__(self, args: Mapping[str, Any], workloads: Workloads) -> None:
        parsed = parse_args("PodTopologySpread", args, SpreadArgs)
        self._system = parsed.defaulting_type == "System"
        if self._system and parsed.default_constraints:
            raise ConfigurationError(
                "arguments of PodTopologySpread: defaultConstraints: set defaultingType to List to use your own"
            )
        given = [(each.topology_key, each.when_unsatisfiable) for each in parsed.default_constraints]
        for pair in given:
            if given.count(pair) > 1:
                raise ConfigurationError(
                    f"arguments of PodTopologySpread: defaultConstraints: {pair[1]} on {pair[0]} is there more than once"
                )
        self._defaults = _SYSTEM_DEFAULTS if self._system else parsed.default_constraints
        self._workloads = workloads

    def hard(self, pod: Pod) -> tuple[Constraint, ...]:
        """Return the constraints that exclude nodes."""
        return self._with(pod, "DoNotSchedule")

    def soft(self, pod: Pod) -> tuple[Constraint, ...]:
        """Return the constraints that rank nodes."""
        return self._with(pod, "ScheduleAnyway")

    def need_all_labels(self, pod: Pod) -> bool:
        """Tell whether a node that lacks a topology label is left out; the system's defaults are lenient."""
        return bool(pod.spec.topology_spread_constraints) or not self._system

    def _with(self, pod: Pod, action: _Action) -> tuple[Constraint, ...]:
        own = pod.spec.topology_spread_constraints
        if own:
            return tuple(_own(each, pod) for each in own if each.when_unsatisfiable == action)
        defaults = [each for each in self._defaults if each.when_unsatisfiable == action]
        return tuple(self._deduced(defaults, pod)) if defaults else ()

    def _deduced(self, defaults: Iterable[DefaultConstraint], pod: Pod) -> Iterable[Constraint]:
        selector = self._workloads.replicas_of(pod)
        if selector.is_empty:
            return
        for each in defaults:
            yield Constraint(
                max_skew=each.max_skew,
                topology_key=each.topology_key,
                selector=selector,
                min_domains=each.min_domains,
                honors_affinity=each.node_affinity_policy == "Honor",
                honors_taints=each.node_taints_policy == "Honor",
            )


def _own(constraint: TopologySpreadConstraint, pod: Pod) -> Constraint:
    labels = pod.labels
    alike = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    selector = Selector.of(constraint.label_selector)
    return Constraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector.requiring(alike) if alike else selector,
        min_domains=constraint.min_domains or 1,
        honors_affinity=constraint.node_affinity_policy != "Ignore",
        honors_taints=constraint.node_taints_policy == "Honor",
    )
