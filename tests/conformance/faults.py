"""Faults to plant: what somebody may get wrong in a plugin, one each, as a change of a line of the code that runs."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest

from webhook.scheduling import affinity_terms, ports, profile, resources, selectors, tolerations, workloads
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef
from webhook.scheduling.plugins import (
    image_locality,
    node_affinity,
    node_resources_fit,
    spread_constraints,
    volume_restrictions,
    volume_zone,
)
from webhook.scheduling.plugins import inter_pod_affinity as affinity
from webhook.scheduling.plugins import node_resources_balanced_allocation as balance
from webhook.scheduling.plugins import pod_topology_spread as spread

__all__ = ["FAULTS", "Fault"]


@dataclass(frozen=True)
class Fault:
    """A function that says `wrong` instead of `right`; other than functions are replaced as a whole."""

    name: str
    owner: Any
    attribute: str
    right: str
    wrong: Any

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Change the code until the test is over; fails if there is no such code any more."""
        if not self.right:
            monkeypatch.setattr(self.owner, self.attribute, self.wrong)
            return
        function = inspect.getattr_static(self.owner, self.attribute)
        function = getattr(function, "__func__", function)
        assert isinstance(function, FunctionType)
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.right) == 1, f"{self.attribute} has changed; plant another fault"
        monkeypatch.setattr(function, "__code__", self._compiled(function, source))

    def _compiled(self, function: FunctionType, source: str) -> Any:
        namespace: dict[str, Any] = {}
        changed = source.replace(self.right, self.wrong)
        exec(f"from __future__ import annotations\n{changed}", dict(function.__globals__), namespace)  # noqa: S102 (our own code, with one line changed)
        return namespace[function.__name__].__code__


def _reweighted(**weights: int) -> tuple[PluginRef, ...]:
    return tuple(
        PluginRef(name=ref.name, weight=weights.get(ref.name, ref.weight or 1))
        for ref in profile.DEFAULT_PLUGINS
    )


def _swapped(first: str, second: str) -> tuple[PluginRef, ...]:
    by_name = {ref.name: ref for ref in profile.DEFAULT_PLUGINS}
    places = {first: by_name[second], second: by_name[first]}
    return tuple(places.get(ref.name, ref) for ref in profile.DEFAULT_PLUGINS)


FAULTS = (
    Fault("one pod too many on a node", node_resources_fit, "_shortages", "pod_counts >= ", "pod_counts > "),
    Fault(
        "a node filled to the brim counts as full",
        node_resources_fit,
        "_shortages",
        "amount > allocatable - ",
        "amount >= allocatable - ",
    ),
    Fault(
        "a sidecar forgotten beside an init container",
        resources,
        "_sum",
        "_add(needs, sidecars)",
        "pass",
    ),
    Fault(
        "overhead forgotten", resources, "_with_overhead", "_add(result, _parsed(pod.spec.overhead))", "pass"
    ),
    Fault(
        "pod-level requests counted in the score",
        resources,
        "scoring_requests",
        "_with_overhead(",
        "_with_pod_level(",
    ),
    Fault(
        "a resize that can't be granted counted",
        resources,
        "_granted",
        "{} if infeasible else wanted",
        "wanted",
    ),
    Fault(
        "no default for containers that request nothing",
        resources,
        "scoring_requests",
        ", _DEFAULTS",
        "",
    ),
    Fault("pods that have ended hold their resources", Cache, "set_pod", "if pod.is_terminal", "if False"),
    Fault(
        "a port of one address free beside that of all",
        ports.HostPorts,
        "clashes",
        " or _ANY_ADDRESS in addresses",
        "",
    ),
    Fault(
        "the ports of sidecars forgotten",
        ports,
        "host_ports",
        "*sidecars, *pod.containers",
        "*pod.containers,",
    ),
    Fault("a toleration without effect covers none", tolerations, "_covers", "toleration.effect and ", ""),
    Fault("NoExecute excludes nobody", tolerations, "_EXCLUDING", "", frozenset({"NoSchedule"})),
    Fault(
        "NotIn wants the label to be there",
        selectors,
        "_match_expression",
        "return ~labels.is_in(requirement.values)",
        "return ~(labels.is_in(requirement.values) | labels.equal(None))",
    ),
    Fault("Gt takes what is equal", selectors, "_compares", "number > bound", "number >= bound"),
    Fault(
        "of two names in one term either will do",
        node_affinity,
        "_node_names",
        "names & values",
        "names | values",
    ),
    Fault(
        "the weights of two plugins swapped",
        profile,
        "DEFAULT_PLUGINS",
        "",
        _reweighted(TaintToleration=2, NodeAffinity=3),
    ),
    Fault(
        "two filters in the wrong order",
        profile,
        "DEFAULT_PLUGINS",
        "",
        _swapped("NodeUnschedulable", "TaintToleration"),
    ),
    Fault(
        "one pod too few in a domain", spread.PodTopologySpread, "_skewed", "> constraint", ">= constraint"
    ),
    Fault(
        "minDomains forgotten",
        spread.PodTopologySpread,
        "_skewed",
        "len(there) >= constraint.min_domains",
        "len(there)",
    ),
    Fault("pods that are being deleted spread", spread._Spread, "counts", "=False", "=True"),
    Fault(
        "taints of nodes forgotten in spreading",
        spread._Spread,
        "included",
        "if constraint.honors_taints",
        "if False",
    ),
    Fault("spread scores rounded down", spread, "_rounded", ">= 0.5", "> 2"),
    Fault(
        "the affinity of a pod forgotten in spreading",
        spread_constraints,
        "_own",
        'constraint.node_affinity_policy != "Ignore"',
        "False",
    ),
    Fault(
        "the Services of a pod forgotten",
        workloads.Workloads,
        "replicas_of",
        "required.update(self._services[key].equal)",
        "pass",
    ),
    Fault(
        "affinity to pods in the wrong namespace",
        affinity_terms,
        "_term",
        "if own else frozenset(term.namespaces)",
        "",
    ),
    Fault(
        "the first of a group kept away from itself",
        affinity._View,
        "has_all_of",
        "if not found and",
        "if False and",
    ),
    Fault(
        "required affinity of others ignored in the score",
        affinity._View,
        "weighted",
        "if hard_weight",
        "if False",
    ),
    Fault(
        "the anti-affinity of placed pods ignored", affinity.InterPodAffinity, "pre_filter", "] = 4", "] = 0"
    ),
    Fault("images without a tag unknown", image_locality, "_with_tag", "{name}:latest", "{name}"),
    Fault(
        "the balance before and after mixed up",
        balance,
        "_change",
        "with_the_pod - as_it_is",
        "as_it_is - with_the_pod",
    ),
    Fault("a volume in two zones is in neither", volume_zone, "_DELIMITER", "", ","),
    Fault("a claim for one pod shared", volume_restrictions, "_ONE_POD", "", "ReadWriteOnce"),
)
