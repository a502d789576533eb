"""For tests of plugins: nodes, pods and a cluster in one line each, and one plugin run over them.

cache = make_cache(make_node("big", cpu="8"), make_node("small", cpu="1"))
assert run_score(MyPlugin(), make_pod(cpu="500m"), cache) == {"big": 100, "small": 50}
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from webhook.scheduling.cache import Cache
from webhook.scheduling.config import ALL, PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.explanation import refusals
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Node, NodeMetrics, Pod, Quantity
from webhook.scheduling.per_node import as_filter, as_score
from webhook.scheduling.plugin import Handle, PreFilterPlugin
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugins.priority_sort import PrioritySort
from webhook.scheduling.profile import build_framework
from webhook.scheduling.record import Record
from webhook.scheduling.registry import Registry

__all__ = [
    "make_cache",
    "make_framework",
    "make_handle",
    "make_node",
    "make_node_metrics",
    "make_pod",
    "run_filter",
    "run_score",
]


def make_node(
    name: str = "node",
    *,
    cpu: Quantity = "4",
    memory: Quantity = "32Gi",
    pods: Quantity = "110",
    resources: Mapping[str, Quantity] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    images: Mapping[str, int] | None = None,
    unschedulable: bool = False,
) -> Node:
    """Return a node. Taints are written as for kubectl, `key=value:NoSchedule`; images by name with their bytes."""
    manifest = {
        "metadata": {"name": name, "uid": f"uid-of-{name}", "labels": dict(labels or {})},
        "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})},
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
        },
    }
    return msgspec.convert(manifest, Node)


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: Quantity | None = None,
    memory: Quantity | None = None,
    requests: Mapping[str, Quantity] | None = None,
    labels: Mapping[str, str] | None = None,
    host_ports: Iterable[int] = (),
    node: str = "",
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Pod:
    """Return a pod with one container. `spec`, `status` and `metadata` add to the manifest, as in YAML."""
    wanted = {"cpu": cpu, "memory": memory, **(requests or {})}
    container = {
        "name": "main",
        "image": "registry.example/main",
        "resources": {"requests": {key: value for key, value in wanted.items() if value is not None}},
        "ports": [{"containerPort": port, "hostPort": port} for port in host_ports],
    }
    manifest = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-of-{namespace}/{name}",
            "labels": dict(labels or {}),
            **(metadata or {}),
        },
        "spec": {"nodeName": node, "containers": [container], **(spec or {})},
        "status": dict(status or {}),
    }
    return msgspec.convert(manifest, Pod)


def make_node_metrics(
    node: str, *, memory: Quantity, timestamp: str = "2026-01-01T00:00:00Z", window: str = "20s"
) -> NodeMetrics:
    """Return what metrics.k8s.io tells of a node, for `cache.memory.measure`. Another `timestamp` is another measurement."""
    manifest = {
        "metadata": {"name": node},
        "timestamp": timestamp,
        "window": window,
        "usage": {"cpu": "1", "memory": memory},
    }
    return msgspec.convert(manifest, NodeMetrics)


def make_cache(*nodes: Node, pods: Iterable[Pod] = (), clock: Callable[[], float] = time.monotonic) -> Cache:
    """Return a cluster of these nodes, with the pods that name their node placed."""
    cache = Cache(clock)
    for node in nodes:
        cache.set_node(node)
    for pod in pods:
        cache.set_pod(pod)
    return cache


def make_handle(cache: Cache | None = None) -> Handle:
    """Return what a plugin's factory gets beside its arguments."""
    return Handle("custom-scheduler", make_cache() if cache is None else cache)


def make_framework(cache: Cache, **plugins: object) -> Framework:
    """Return the default profile over the cluster, with these plugins added by name. Ties are broken alike each time."""
    registry = load_plugins()
    for name, plugin in plugins.items():
        registry.register(name, lambda _args, _handle, plugin=plugin: plugin)
    added = PluginSetConfig(enabled=tuple(PluginRef(name=name) for name in plugins))
    profile = Profile(plugins=PluginsConfig(multi_point=added))
    rng = random.Random(0)  # noqa: S311 (breaks ties)
    return build_framework(profile, registry, cache, rng)


def run_filter(plugin: object, pod: Pod, cache: Cache) -> dict[str, list[str]]:
    """Return why each node is rejected that is, by a framework that has this plugin alone.

    Raises AssertionError for a plugin that has none of `pre_filter`, `filter` and `filter_node`, and PluginError for one
    that does something wrong.
    """
    has_say = isinstance(plugin, PreFilterPlugin) or as_filter(type(plugin).__name__, plugin) is not None
    assert has_say, f"{plugin!r} has none of pre_filter, filter and filter_node"
    framework = _framework_of(plugin, cache)
    nodes = Nodes(cache.table)
    if not len(nodes):
        return {}
    search = framework.search(pod, nodes)
    found = refusals(search.diagnosis, search.feasible.rows, cache.table)
    return {name: [refusal.reason for refusal in said] for name, said in found.items()}


def run_score(
    plugin: object, pod: Pod, cache: Cache, *, only: Sequence[str] | None = None
) -> dict[str, float]:
    """Return the normalized score of each node, or of `only` some, as if these were feasible; 0 if the plugin skips the pod.

    Raises AssertionError for a plugin that has neither `score` nor `score_node`, and PluginError for one that does
    something wrong.
    """
    assert as_score(plugin) is not None, f"{plugin!r} has neither score nor score_node"
    framework = _framework_of(plugin, cache)
    nodes = Nodes(cache.table) if only is None else Nodes(cache.table).only(only)
    if not len(nodes):
        return {}
    # With a record, what all nodes have alike isn't left out.
    total = framework.scores(pod, nodes, Record())
    return dict(zip(nodes.names, map(float, total), strict=True))


def _framework_of(plugin: object, cache: Cache) -> Framework:
    """Return a framework in which nobody but this plugin has a say on nodes."""
    name, order = type(plugin).__name__, PrioritySort.__name__
    registry = Registry()
    registry.register(order, lambda _args, _handle: PrioritySort())
    registry.register(name, lambda _args, _handle: plugin)
    nothing_else = (PluginRef(name=ALL),)
    plugins = PluginsConfig(
        multi_point=PluginSetConfig(enabled=(PluginRef(name=name),), disabled=nothing_else),
        queue_sort=PluginSetConfig(enabled=(PluginRef(name=order),), disabled=nothing_else),
    )
    return build_framework(Profile(plugins=plugins), registry, cache, random.Random(0))  # noqa: S311 (breaks ties)


def _taint(text: str) -> dict[str, str]:
    key_and_value, _, effect = text.rpartition(":")
    key, _, value = key_and_value.partition("=")
    return {"key": key, "value": value, "effect": effect}
