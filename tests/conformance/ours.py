"""Our scheduler, in process, on the cluster that the API server told of."""

from __future__ import annotations

import json
import random
from typing import Any, TypeVar

import msgspec
import numpy as np

from tests.conformance.model import Answer, Json, World
from tests.conformance.profiles import our_configuration
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import parse_configuration
from webhook.scheduling.framework import Framework
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import (
    CSIDriver,
    CSINode,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
)
from webhook.scheduling.outcome import Placement, Rejection
from webhook.scheduling.plugin import ScorePlugin, Scores
from webhook.scheduling.plugin_set import Enabled
from webhook.scheduling.profile import build_framework
from webhook.scheduling.sources import load_plugins

__all__ = ["OurScheduler"]

T = TypeVar("T")

_CONFIGURATION = parse_configuration(json.dumps(our_configuration()), source="profiles.py")
_PROFILES = {profile.scheduler_name: profile for profile in _CONFIGURATION.profiles}
_STORAGE: dict[str, Any] = {
    kind.__name__: kind
    for kind in (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass)
}
_CONTROLLERS: dict[str, Any] = {
    kind.__name__: kind for kind in (ReplicaSet, ReplicationController, StatefulSet)
}


class OurScheduler:
    """The profiles of both schedulers over a cache of this cluster."""

    def __init__(self, world: World) -> None:
        self._cache = Cache()
        self._frameworks: dict[str, _Observed] = {}
        for obj in world.objects:
            self._take_in(obj)
        for node in world.nodes:
            self._cache.set_node(_decoded(node, Node))
        for pod in world.pods:
            self._cache.set_pod(_decoded(pod, Pod))

    def answer(self, pod: Json) -> Answer:
        """Return what the pod's profile makes of it."""
        decoded = _decoded(pod, Pod)
        framework = self._framework(decoded.spec.scheduler_name)
        gates = framework.pre_enqueue(decoded)
        if not gates.is_success:
            return Answer(reason="SchedulingGated", message=gates.message)
        framework.forget()
        decision = framework.schedule(decoded)
        if not isinstance(decision, Placement):
            return Answer(reason=decision.reason, message=decision.message)
        return Answer(
            feasible=frozenset(framework.feasible), choice=decision.node_name, scores=framework.scores
        )

    def assume(self, pod: Json, node: str) -> None:
        """Count a pod where it was put."""
        self._cache.assume(_decoded(pod, Pod), node)

    def _framework(self, name: str) -> _Observed:
        # Made when a pod asks for it: that takes longer than to decide on a hundred pods.
        if name not in self._frameworks:
            made = build_framework(_PROFILES[name], load_plugins(), self._cache, random.Random(0))
            self._frameworks[name] = _Observed(name, made._plugins, self._cache, made._rng)
        return self._frameworks[name]

    def _take_in(self, obj: Json) -> None:
        kind = obj["kind"]
        if kind == "Namespace":
            self._cache.namespaces.set(_decoded(obj, Namespace))
        elif kind == "Service":
            self._cache.workloads.set_service(_decoded(obj, Service))
        elif kind in _CONTROLLERS:
            self._cache.workloads.set_controller(_decoded(obj, _CONTROLLERS[kind]))
        elif kind in _STORAGE:
            self._cache.storage.put(_decoded(obj, _STORAGE[kind]))


class _Observed(Framework):
    """Keeps what the plugins said of the last pod."""

    feasible: list[str]
    scores: dict[str, dict[str, int]]

    def forget(self) -> None:
        self.feasible, self.scores = [], {}

    def _filter(self, pod: Pod, nodes: Nodes, skip: set[str]) -> tuple[Nodes, tuple[Rejection, ...]]:
        feasible, rejections = super()._filter(pod, nodes, skip)
        self.feasible = list(feasible.names)
        return feasible, rejections

    def _scores(self, each: Enabled[ScorePlugin], pod: Pod, nodes: Nodes) -> Scores:
        scores = super()._scores(each, pod, nodes)
        weighted = (np.asarray(scores) * each.weight).tolist()
        self.scores[each.name] = dict(zip(nodes.names, weighted, strict=True))
        return scores


def _decoded(obj: Json, type_: type[T]) -> T:
    return msgspec.convert(obj, type_)
