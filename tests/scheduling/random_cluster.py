"""Nodes and pods drawn at random, narrow enough that what they ask for meets what there is."""

from __future__ import annotations

import random
from typing import Any

from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.testing import make_node, make_pod

__all__ = ["random_node", "random_pod"]

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_APPS = ("web", "db", "job")
_TAINTS = (
    "gpu=yes:NoSchedule",
    "old=yes:PreferNoSchedule",
    "flaky=yes:PreferNoSchedule",
    "out=yes:NoExecute",
)
_IMAGES = {"registry.example/main:latest": 600 * 2**20, "registry.example/other:1": 900 * 2**20}


def random_node(rng: random.Random, name: str) -> Node:
    """Return a node of that name, different each time."""
    labels = {_HOST: name}
    if rng.random() < 0.9:
        labels[_ZONE] = rng.choice("abc")
    if rng.random() < 0.5:
        labels["disk"] = rng.choice(("ssd", "hdd"))
    if rng.random() < 0.3:
        labels["rank"] = str(rng.randrange(5))
    return make_node(
        name,
        cpu=rng.choice(("1", "2", "4")),
        memory=rng.choice(("1Gi", "2Gi", "8Gi")),
        pods=rng.choice(("2", "4", "110")),
        resources={"example.com/gpu": rng.choice(("1", "2"))} if rng.random() < 0.3 else {},
        labels=labels,
        taints=rng.sample(_TAINTS, rng.choice((0, 0, 0, 1, 2))),
        images={image: size for image, size in _IMAGES.items() if rng.random() < 0.2},
        unschedulable=rng.random() < 0.1,
    )


def random_pod(rng: random.Random, name: str, *, node: str = "") -> Pod:
    """Return a pod of that name, on a node or not."""
    spec: dict[str, Any] = {"schedulerName": "custom-scheduler"}
    if rng.random() < 0.3:
        spec["tolerations"] = [_toleration(rng) for _ in range(rng.choice((1, 2)))]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": rng.choice(("ssd", "hdd"))}
    affinity = {
        kind: terms
        for kind, terms in (
            ("nodeAffinity", _node_affinity(rng)),
            ("podAffinity", _pod_affinity(rng, 0.15)),
            ("podAntiAffinity", _pod_affinity(rng, 0.2)),
        )
        if terms
    }
    if affinity:
        spec["affinity"] = affinity
    if rng.random() < 0.45:
        spec["topologySpreadConstraints"] = [_spread(rng) for _ in range(rng.choice((1, 1, 2)))]
    return make_pod(
        name,
        namespace=rng.choice(("default", "default", "other")),
        cpu=rng.choice((None, "100m", "500m", "1")),
        memory=rng.choice((None, "100Mi", "1Gi")),
        requests={"example.com/gpu": "1"} if rng.random() < 0.1 else {},
        labels={"app": rng.choice(_APPS)},
        host_ports=rng.sample((80, 81), 1) if rng.random() < 0.15 else (),
        node=node,
        spec=spec,
        metadata={"uid": f"uid-of-{name}"},
    )


def _toleration(rng: random.Random) -> dict[str, str]:
    taint = rng.choice(_TAINTS)
    key, _, effect = taint.partition("=yes:")
    toleration = {"key": key, "operator": "Exists"}
    return {**toleration, "effect": effect} if rng.random() < 0.5 else toleration


def _node_affinity(rng: random.Random) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if rng.random() < 0.2:
        terms = [{"matchExpressions": [_expression(rng)]} for _ in range(rng.choice((1, 2)))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.2:
        preferred = {"weight": rng.randrange(1, 100), "preference": {"matchExpressions": [_expression(rng)]}}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
    return affinity


def _expression(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        (
            {"key": "disk", "operator": "In", "values": ["ssd"]},
            {"key": "disk", "operator": "NotIn", "values": ["hdd"]},
            {"key": "rank", "operator": "Gt", "values": ["2"]},
            {"key": _ZONE, "operator": "Exists"},
            {"key": "rank", "operator": "DoesNotExist"},
        )
    )


def _pod_affinity(rng: random.Random, chance: float) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if rng.random() < chance:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [
            _term(rng) for _ in range(rng.choice((1, 1, 2)))
        ]
    if rng.random() < chance:
        preferred = {"weight": rng.randrange(1, 100), "podAffinityTerm": _term(rng)}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
    return affinity


def _term(rng: random.Random) -> dict[str, Any]:
    term: dict[str, Any] = {
        "labelSelector": {"matchLabels": {"app": rng.choice(_APPS)}},
        "topologyKey": rng.choice((_ZONE, _HOST)),
    }
    if rng.random() < 0.3:
        term["namespaceSelector"] = rng.choice(({}, {"matchLabels": {"team": "a"}}))
    return term


def _spread(rng: random.Random) -> dict[str, Any]:
    constraint = {
        "maxSkew": rng.choice((1, 2)),
        "topologyKey": rng.choice((_ZONE, _HOST)),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": rng.choice(_APPS)}},
    }
    if rng.random() < 0.3:
        constraint["nodeTaintsPolicy"] = "Honor"
    if rng.random() < 0.2 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = 3
    return constraint
