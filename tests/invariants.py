"""What must hold in any cluster, whatever a scheduler did: found from lists of nodes and pods, in plain Python.

Nothing of the product is used, so that a fault isn't shared. Constraints are judged by the nodes as they are now, so
their labels and taints must not have changed since the pods were bound. Where pods come but don't go, affinity and
spread can be judged without knowing the order of the bindings; where they can't be, nothing is said.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tests.placement_rules import (
    Json,
    deletion_asked,
    has_affinity_to,
    has_ended,
    holds,
    host_ports,
    is_selected,
    key_of,
    labels_of,
    namespace_of,
    quantity,
    requests_of,
    seconds,
    taints_of,
    terms_of,
    tolerates,
)

__all__ = ["Binding", "Violation", "bindings_in_audit", "violations"]
Kind = Literal[
    "overcommit",
    "port clash",
    "node selector",
    "node affinity",
    "taint",
    "pod affinity",
    "pod anti-affinity",
    "topology spread",
    "gated",
    "deleting",
    "unknown node",
    "bound twice",
    "moved",
]


@dataclass(frozen=True)
class Violation:
    """One thing that must not be; `pod` and `node` are empty where it is about none."""

    kind: Kind
    pod: str = ""
    node: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Binding:
    """A binding that the API server carried out."""

    uid: str
    node: str


def violations(
    nodes: Iterable[Json],
    pods: Iterable[Json],
    *,
    namespaces: Iterable[Json] = (),
    bindings: Sequence[Binding] = (),
) -> list[Violation]:
    """Return all that is wrong; nodes, pods and namespaces are objects as the API gives them."""
    cluster = _Cluster(list(nodes), list(pods), list(namespaces))
    return [
        *cluster.overcommit(),
        *cluster.port_clashes(),
        *cluster.broken_node_constraints(),
        *cluster.broken_affinity(),
        *cluster.broken_spread(),
        *cluster.unwanted(),
        *_bound_wrongly(cluster.placed, bindings),
    ]


def bindings_in_audit(lines: Iterable[str]) -> list[Binding]:
    """Return the bindings in an audit log of level Request that the API server carried out."""
    found = []
    for line in lines:
        event = json.loads(line)
        if (
            event["stage"] == "ResponseComplete"
            and event["verb"] == "create"
            and event.get("objectRef", {}).get("subresource") == "binding"
            and event["responseStatus"]["code"] < 300
        ):
            binding = event["requestObject"]
            found.append(Binding(uid=binding["metadata"]["uid"], node=binding["target"]["name"]))
    return found


class _Cluster:
    def __init__(self, nodes: list[Json], pods: list[Json], namespaces: list[Json]) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self.namespaces = {each["metadata"]["name"]: labels_of(each) for each in namespaces}
        self.placed = [pod for pod in pods if pod["spec"].get("nodeName")]
        self.running = [pod for pod in self.placed if not has_ended(pod)]
        self.by_node: defaultdict[str, list[Json]] = defaultdict(list)
        for pod in self.running:
            self.by_node[pod["spec"]["nodeName"]].append(pod)

    def overcommit(self) -> Iterator[Violation]:
        for name, pods in self.by_node.items():
            if name not in self.nodes:
                yield from (Violation("unknown node", key_of(pod), name) for pod in pods)
                continue
            offered = self.nodes[name]["status"]["allocatable"]
            held = defaultdict(Fraction, pods=Fraction(len(pods)))
            for pod in pods:
                for resource, amount in requests_of(pod).items():
                    held[resource] += amount
            for resource, amount in held.items():
                if amount > (limit := quantity(offered.get(resource, 0))):
                    yield Violation(
                        "overcommit", node=name, detail=f"{resource}: {float(amount):g} > {float(limit):g}"
                    )

    def port_clashes(self) -> Iterator[Violation]:
        for name, pods in self.by_node.items():
            taken: list[tuple[str, str, int]] = []
            for pod in pods:
                wanted = list(host_ports(pod))
                for protocol, address, port in wanted:
                    if any(
                        (protocol, port) == (other_protocol, other_port)
                        and (address == other or "0.0.0.0" in (address, other))  # noqa: S104 (compared, not bound)
                        for other_protocol, other, other_port in taken
                    ):
                        yield Violation("port clash", key_of(pod), name, f"{protocol} {address}:{port}")
                taken += wanted

    def broken_node_constraints(self) -> Iterator[Violation]:
        for pod in self.running:
            node = self.nodes.get(pod["spec"]["nodeName"])
            if node is None:
                continue
            where = key_of(pod), node["metadata"]["name"]
            if not is_selected(pod, node):
                yield Violation("node selector", *where)
            if not has_affinity_to(pod, node):
                yield Violation("node affinity", *where)
            for taint in taints_of(node):
                if not tolerates(pod, taint):
                    yield Violation("taint", *where, f"{taint['key']}:{taint['effect']}")

    def broken_affinity(self) -> Iterator[Violation]:
        for pod in self.running:
            for term in terms_of(pod, "podAntiAffinity"):
                for other in self._in_domain(pod, term):
                    yield Violation(
                        "pod anti-affinity", key_of(pod), pod["spec"]["nodeName"], f"beside {key_of(other)}"
                    )
            for term in terms_of(pod, "podAffinity"):
                if not any(self._in_domain(pod, term)) and not self._may_be_the_first(pod, term):
                    yield Violation("pod affinity", key_of(pod), pod["spec"]["nodeName"], term["topologyKey"])

    def broken_spread(self) -> Iterator[Violation]:
        for pod in self.running:
            for constraint in pod["spec"].get("topologySpreadConstraints", ()):
                if constraint["whenUnsatisfiable"] == "DoNotSchedule":
                    yield from self._broken_constraint(pod, constraint)

    def unwanted(self) -> Iterator[Violation]:
        for pod in self.placed:
            where = key_of(pod), pod["spec"]["nodeName"]
            if pod["spec"].get("schedulingGates"):
                yield Violation("gated", *where)
            if (deleted := deletion_asked(pod)) and any(
                condition["type"] == "PodScheduled"
                and condition["status"] == "True"
                and seconds(condition["lastTransitionTime"]) > deleted
                for condition in pod.get("status", {}).get("conditions", ())
            ):
                yield Violation("deleting", *where)

    def _domain(self, pod: Json, key: str) -> str | None:
        node = self.nodes.get(pod["spec"]["nodeName"])
        return None if node is None else labels_of(node).get(key)

    def _matches(self, owner: Json, term: Json, other: Json) -> bool:
        """Tell whether a pod is one that the term of `owner` is about."""
        namespace, names = namespace_of(other), term.get("namespaces") or ()
        selector = term.get("namespaceSelector")
        if selector is not None:
            in_scope = namespace in names or holds(selector, self.namespaces.get(namespace, {}))
        else:
            in_scope = namespace in (names or (namespace_of(owner),))
        labels = term.get("labelSelector")
        return in_scope and labels is not None and holds(labels, labels_of(other))

    def _in_domain(self, pod: Json, term: Json) -> Iterator[Json]:
        domain = self._domain(pod, term["topologyKey"])
        for other in self.running if domain is not None else ():
            if (
                other is not pod
                and self._domain(other, term["topologyKey"]) == domain
                and self._matches(pod, term, other)
            ):
                yield other

    def _may_be_the_first(self, pod: Json, term: Json) -> bool:
        """Tell whether nothing was there to be near when it came: no replica of it has gone anywhere else."""
        return (
            self._domain(pod, term["topologyKey"]) is not None
            and self._matches(pod, term, pod)
            and not any(
                other is not pod
                and term in terms_of(other, "podAffinity")
                and self._matches(pod, term, other)
                for other in self.running
            )
        )

    def _broken_constraint(self, pod: Json, constraint: Json) -> Iterator[Violation]:
        key = constraint["topologyKey"]
        others = {"matchLabels": {}, **(constraint.get("labelSelector") or {"matchExpressions": [_NOTHING]})}
        alike = {
            name: labels_of(pod)[name]
            for name in constraint.get("matchLabelKeys", ())
            if name in labels_of(pod)
        }
        group = [
            other
            for other in self.running
            if namespace_of(other) == namespace_of(pod)
            and holds(others, labels_of(other))
            and alike.items() <= labels_of(other).items()
        ]
        if pod not in group or any(
            constraint not in each["spec"].get("topologySpreadConstraints", ()) for each in group
        ):
            # One that isn't bound by the constraint may have come at any time and to any place.
            return
        counts = {
            labels_of(node)[key]: 0
            for node in self.nodes.values()
            if self._is_eligible(pod, constraint, node)
        }
        for each in group:
            domain = self._domain(each, key)
            if domain is None:
                yield Violation("topology spread", key_of(each), each["spec"]["nodeName"], f"no {key}")
            elif domain in counts:
                counts[domain] += 1
        fewest = min(counts.values(), default=0) if len(counts) >= (constraint.get("minDomains") or 1) else 0
        here = counts.get(self._domain(pod, key) or "", 0)
        if here - fewest > constraint["maxSkew"]:
            detail = f"{key}: {here} here, {fewest} elsewhere, maxSkew {constraint['maxSkew']}"
            yield Violation("topology spread", key_of(pod), pod["spec"]["nodeName"], detail)

    def _is_eligible(self, pod: Json, constraint: Json, node: Json) -> bool:
        keys = [
            each["topologyKey"]
            for each in pod["spec"]["topologySpreadConstraints"]
            if each["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        by_affinity = constraint.get("nodeAffinityPolicy", "Honor") == "Ignore" or (
            is_selected(pod, node) and has_affinity_to(pod, node)
        )
        by_taints = constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or all(
            tolerates(pod, taint) for taint in taints_of(node)
        )
        return all(key in labels_of(node) for key in keys) and by_affinity and by_taints


_NOTHING = {"key": "nothing", "operator": "In", "values": []}


def _bound_wrongly(placed: Iterable[Json], bindings: Sequence[Binding]) -> Iterator[Violation]:
    times = Counter(binding.uid for binding in bindings)
    first = {binding.uid: binding.node for binding in reversed(bindings)}
    yield from (
        Violation("bound twice", detail=f"{uid}, {count} times") for uid, count in times.items() if count > 1
    )
    for pod in placed:
        node = pod["spec"]["nodeName"]
        if first.get(pod["metadata"]["uid"], node) != node:
            yield Violation("moved", key_of(pod), node, f"bound to {first[pod['metadata']['uid']]}")
