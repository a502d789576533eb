"""Clusters and pods for the benchmarks of scheduling: a shape says what every pod of the cluster asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import Node, Pod

__all__ = ["SHAPES", "filled_cache", "waiting_pods"]

_ZONES = 10
_APPS = 100
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _same_app(app: str) -> dict[str, Any]:
    return {"matchLabels": {"app": app}}


def _term(app: str, topology_key: str) -> dict[str, Any]:
    term = {"labelSelector": _same_app(app), "topologyKey": topology_key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _node_affinity(_app: str) -> dict[str, Any]:
    zones = [f"zone-{number}" for number in range(_ZONES // 2)]
    terms = [{"matchExpressions": [{"key": _ZONE, "operator": "In", "values": zones}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _spread(app: str) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": when,
                "labelSelector": _same_app(app),
            }
            for key, skew, when in ((_ZONE, 5, "DoNotSchedule"), (_HOST, 1, "ScheduleAnyway"))
        ]
    }


def _plain(_app: str) -> dict[str, Any]:
    return {}


def _anti_affinity(app: str) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": _term(app, _HOST)}}


def _affinity(app: str) -> dict[str, Any]:
    return {"affinity": {"podAffinity": _term(app, _ZONE)}}


# What a pod of an app asks for beside cpu and memory.
SHAPES: dict[str, Callable[[str], dict[str, Any]]] = {
    "plain": _plain,
    "node-affinity": _node_affinity,
    "spread": _spread,
    "anti-affinity": _anti_affinity,
    "affinity": _affinity,
}


def filled_cache(shape: str, *, nodes: int, pods_per_node: int) -> Cache:
    """Return a cluster whose nodes all have that many pods of the shape, of 100 apps in turn, each in half the zones."""
    cache = Cache()
    for number in range(nodes):
        cache.set_node(_node(number))
    for number in range(nodes * pods_per_node):
        node = f"node-{number // pods_per_node}"
        cache.set_pod(_pod(f"placed-{number}", f"app-{number % _APPS}", shape, node=node))
    return cache


def waiting_pods(shape: str) -> Iterator[Pod]:
    """Yield pods of the shape without end: replicas of one app that has pods in the cluster."""
    number = 0
    while True:
        yield _pod(f"waiting-{number}", "app-7", shape)
        number += 1


def _node(number: int) -> Node:
    name = f"node-{number}"
    labels = {_HOST: name, _ZONE: f"zone-{number // 5 % _ZONES}", "kubernetes.io/os": "linux"}
    allocatable = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": f"uid-of-{name}", "labels": labels},
            "status": {"allocatable": allocatable},
        },
        Node,
    )


def _pod(name: str, app: str, shape: str, *, node: str = "") -> Pod:
    resources = {"requests": {"cpu": "100m", "memory": "500Mi"}}
    spec = {
        "schedulerName": "custom-scheduler",
        "nodeName": node,
        "containers": [{"name": "main", "image": "registry.example/main", "resources": resources}],
        **SHAPES[shape](app),
    }
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "labels": {"app": app}}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)
