"""Our scheduler, in process, on the cluster that the API server told of."""

from __future__ import annotations

import json
import random

import msgspec

from tests.conformance.model import Answer, Json, World
from tests.conformance.profiles import our_configuration
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import parse_configuration
from webhook.scheduling.framework import Framework
from webhook.scheduling.kinds import KINDS
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Placement
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_framework
from webhook.scheduling.record import Record

__all__ = ["OurScheduler"]

_CONFIGURATION = parse_configuration(json.dumps(our_configuration()), source="profiles.py")
_PROFILES = {profile.scheduler_name: profile for profile in _CONFIGURATION.profiles}
_KINDS = {kind.name: kind for kind in KINDS}


class OurScheduler:
    """The profiles of both schedulers over a cache of this cluster."""

    def __init__(self, world: World) -> None:
        self._cache = Cache()
        self._frameworks: dict[str, Framework] = {}
        for obj in (*world.objects, *world.nodes, *world.pods):
            kind = _KINDS.get(obj["kind"])
            if kind is not None:
                kind.put(self._cache, msgspec.convert(obj, kind.type))

    def answer(self, pod: Json) -> Answer:
        """Return what the pod's profile makes of it."""
        decoded = msgspec.convert(pod, Pod)
        framework = self._framework(decoded.spec.scheduler_name)
        gates = framework.pre_enqueue(decoded)
        if not gates.is_success:
            return Answer(reason="SchedulingGated", message=gates.message)
        record = Record()
        decision = framework.schedule(decoded, record)
        if not isinstance(decision, Placement):
            return Answer(reason=decision.reason, message=decision.message)
        assert record.feasible is not None
        names = [self._cache.table.node(int(row)).name for row in record.feasible]
        scores = {
            plugin: dict(zip(names, weighted.tolist(), strict=True))
            for plugin, weighted in record.scores.items()
        }
        return Answer(feasible=frozenset(names), choice=decision.node_name, scores=scores)

    def assume(self, pod: Json, node: str) -> None:
        """Count a pod where it was put."""
        self._cache.assume(msgspec.convert(pod, Pod), node)

    def _framework(self, name: str) -> Framework:
        # Made when a pod asks for it: that takes longer than to decide on a hundred pods.
        if name not in self._frameworks:
            rng = random.Random(0)
            self._frameworks[name] = build_framework(_PROFILES[name], load_plugins(), self._cache, rng)
        return self._frameworks[name]
