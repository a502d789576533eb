from __future__ import annotations

import json
from typing import Any

import pytest

from tests.invariants import Binding, bindings_in_audit, violations
from tests.placement_rules import Json

HOST, ZONE = "kubernetes.io/hostname", "zone"
WEB = {"matchLabels": {"app": "web"}}


def node(name: str, *, zone: str = "z1", allocatable: Json | None = None, **spec: Any) -> Json:
    offered = {"cpu": "2", "memory": "4Gi", "pods": "10", **(allocatable or {})}
    labels = {HOST: name, ZONE: zone}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": offered}}


def pod(name: str, on: str, *, app: str = "web", cpu: str = "100m", **spec: Any) -> Json:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {"app": app}},
        "spec": {"nodeName": on, "containers": [container], **spec},
        "status": {},
    }


def near(kind: str, key: str, selector: Json = WEB, **term: Any) -> Json:
    terms = [{"topologyKey": key, "labelSelector": selector, **term}]
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def spread(max_skew: int = 1, **others: Any) -> list[Json]:
    constraint = {"maxSkew": max_skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**constraint, "labelSelector": WEB, **others}]


def on_node(key: str, *values: str) -> Json:
    expression = {"key": key, "operator": "In", "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def port(number: int, **others: Any) -> list[Json]:
    return [{"name": "main", "ports": [{"containerPort": 80, "hostPort": number, **others}]}]


A, B = node("a"), node("b", zone="z2")
TAINTED = node("t", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
DELETED = {
    "deletionTimestamp": "2026-01-01T00:01:00Z",
    "deletionGracePeriodSeconds": 30,
}


def deleting(scheduled_at: str) -> Json:
    found = pod("p", "a")
    found["metadata"] |= DELETED
    found["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled_at}
    ]
    return found


@pytest.mark.parametrize(
    ("kind", "pods"),
    [
        ("overcommit", [pod("p", "a", cpu="1500m"), pod("q", "a", cpu="501m")]),
        ("overcommit", [pod(f"p{number}", "a", cpu="1m") for number in range(11)]),
        ("overcommit", [pod("p", "a", overhead={"memory": "4097Mi"})]),
        ("overcommit", [pod("p", "a", cpu="1n", resources={"requests": {"cpu": 3}})]),
        ("overcommit", [pod("p", "a", initContainers=[{"resources": {"requests": {"cpu": "2.1"}}}])]),
        (
            "overcommit",
            [
                pod(
                    "p",
                    "a",
                    cpu="1",
                    initContainers=[{"restartPolicy": "Always", "resources": {"requests": {"cpu": "1001m"}}}],
                )
            ],
        ),
        (
            "port clash",
            [pod("p", "a", containers=port(80)), pod("q", "a", containers=port(80, hostIP="10.0.0.1"))],
        ),
        ("node selector", [pod("p", "a", nodeSelector={ZONE: "z2"})]),
        ("node affinity", [pod("p", "a", affinity=on_node(ZONE, "z2", "z3"))]),
        ("taint", [pod("p", "t")]),
        ("taint", [pod("p", "t", tolerations=[{"key": "gpu", "value": "no"}])]),
        ("taint", [pod("p", "cordoned")]),
        ("pod anti-affinity", [pod("p", "a", affinity=near("podAntiAffinity", HOST)), pod("q", "a")]),
        (
            "pod anti-affinity",
            [
                pod("p", "a", affinity=near("podAntiAffinity", ZONE, namespaceSelector={})),
                pod("q", "a2"),
            ],
        ),
        ("pod affinity", [pod("p", "a", app="other", affinity=near("podAffinity", ZONE)), pod("q", "b")]),
        (
            "pod affinity",
            [pod(name, on, affinity=near("podAffinity", ZONE)) for name, on in (("p", "a"), ("q", "b"))],
        ),
        ("topology spread", [pod(name, "a", topologySpreadConstraints=spread()) for name in "pq"]),
        (
            "topology spread",
            [
                pod("p", "a", topologySpreadConstraints=spread(minDomains=5)),
                pod("q", "a2", topologySpreadConstraints=spread(minDomains=5)),
                pod("r", "b", topologySpreadConstraints=spread(minDomains=5)),
            ],
        ),
        ("gated", [pod("p", "a", schedulingGates=[{"name": "hold"}])]),
        ("deleting", [deleting("2026-01-01T00:00:31Z")]),
        ("unknown node", [pod("p", "gone")]),
    ],
)
def test_what_must_not_be_is_found(kind: str, pods: list[Json]) -> None:
    nodes = [A, node("a2"), B, TAINTED, node("cordoned", zone="z2", unschedulable=True)]

    found = violations(nodes, pods)

    assert {each.kind for each in found} == {kind}


@pytest.mark.parametrize(
    "pods",
    [
        [pod("p", "a", cpu="1500m"), pod("q", "a", cpu="0.5")],
        [pod("p", "a", cpu="1", initContainers=[{"resources": {"requests": {"cpu": "2"}}}])],
        [pod("p", "a", containers=port(80)), pod("q", "a", containers=port(80, protocol="UDP"))],
        [pod("p", "a", containers=port(80)), pod("q", "b", containers=port(80))],
        [
            pod("p", "a", containers=port(80, hostIP="10.0.0.1")),
            pod("q", "a", containers=port(80, hostIP="10.0.0.2")),
        ],
        [pod("p", "a", nodeSelector={ZONE: "z1"}, affinity=on_node(ZONE, "z1"))],
        [pod("p", "t", tolerations=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])],
        [pod("p", "t", tolerations=[{"operator": "Exists"}])],
        [pod("p", "a", affinity=near("podAntiAffinity", HOST)), pod("q", "b")],
        [pod("p", "a", affinity=near("podAntiAffinity", HOST, namespaces=["other"])), pod("q", "a")],
        [pod("p", "a", affinity=near("podAffinity", ZONE))],
        [pod(name, "a", affinity=near("podAffinity", ZONE)) for name in "pq"],
        [
            pod(name, on, topologySpreadConstraints=spread())
            for name, on in (("p", "a"), ("q", "b"), ("r", "a"))
        ],
        # One that isn't bound by the constraint makes the order matter.
        [pod("p", "a", topologySpreadConstraints=spread()), pod("q", "a"), pod("r", "a")],
        [deleting("2026-01-01T00:00:29Z")],
    ],
)
def test_what_may_be_is_not_told(pods: list[Json]) -> None:
    assert violations([A, B, TAINTED], pods) == []


def test_a_pod_that_has_ended_holds_nothing() -> None:
    ended = pod("p", "a", cpu="100")
    ended["status"]["phase"] = "Succeeded"

    assert violations([A], [ended]) == []


def test_a_pod_without_a_node_breaks_nothing() -> None:
    assert violations([A], [pod("p", "", cpu="100", nodeSelector={"x": "y"})]) == []


def test_two_bindings_of_one_uid_are_found() -> None:
    history = [Binding("uid-p", "a"), Binding("uid-q", "a"), Binding("uid-p", "a")]

    (found,) = violations([A], [pod("p", "a")], bindings=history)

    assert (found.kind, found.detail) == ("bound twice", "uid-p, 2 times")


def test_a_pod_that_is_not_where_it_was_bound_to_is_found() -> None:
    (found,) = violations([A, B], [pod("p", "b")], bindings=[Binding("uid-p", "a")])

    assert (found.kind, found.pod, found.node, found.detail) == ("moved", "shop/p", "b", "bound to a")


def test_bindings_are_taken_from_the_audit_log() -> None:
    def event(code: int, *, stage: str = "ResponseComplete", subresource: str = "binding") -> str:
        return json.dumps(
            {
                "stage": stage,
                "verb": "create",
                "objectRef": {"subresource": subresource},
                "responseStatus": {"code": code},
                "requestObject": {"metadata": {"uid": "u"}, "target": {"name": "a"}},
            }
        )

    lines = [event(201), event(409), event(201, stage="RequestReceived"), event(201, subresource="status")]

    assert bindings_in_audit(lines) == [Binding("u", "a")]
