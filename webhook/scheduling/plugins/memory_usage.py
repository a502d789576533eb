"""MemoryUsage: likes nodes whose memory is least in use, as metrics.k8s.io measures it.

It only scores: which nodes can run a pod is decided by requests. A measurement counts less the older it is, and
from `expirySeconds` on not at all: then what the pods on the node request stands for it, as for a node that was
never measured. So neither an outage of the metrics nor a new node draws all pods, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from webhook.errors import ConfigurationError
from webhook.scheduling.arguments import parse_args
from webhook.scheduling.memory_forecast import predicted_memory
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Scores
from webhook.scheduling.resources import MEMORY

__all__ = ["MemoryUsage", "MemoryUsageArgs"]

_Seconds = Annotated[float, msgspec.Meta(gt=0)]


class MemoryUsageArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`expiry_seconds` as Koordinator's LoadAware; `resolution_seconds` is how often metrics-server measures."""

    expiry_seconds: _Seconds = 180.0
    resolution_seconds: _Seconds = 15.0


class MemoryUsage:
    """Args: `expirySeconds` and `resolutionSeconds`, of which twice has to be less."""

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        given = parse_args("MemoryUsage", args, MemoryUsageArgs)
        self._expiry = given.expiry_seconds
        self._fading = given.expiry_seconds - 2 * given.resolution_seconds
        if self._fading <= 0:
            raise ConfigurationError(
                "arguments of MemoryUsage: expirySeconds: expected more than twice resolutionSeconds "
                f"({2 * given.resolution_seconds:g}), got {given.expiry_seconds:g}"
            )
        self._forecast = handle.cache.memory
        self._forecast.begin()

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """100 for a node without any memory in use, 0 for one that this pod would fill."""
        trust = np.clip((self._expiry - nodes.pick(self._forecast.ages())) / self._fading, 0.0, 1.0)
        measured = nodes.pick(self._forecast.estimates())
        in_use = trust * measured + (1 - trust) * nodes.nonzero_requested(MEMORY)
        offered = np.maximum(nodes.allocatable(MEMORY), 1)
        free = np.clip(1 - (in_use + predicted_memory(pod)) / offered, 0.0, 1.0)
        return (MAX_NODE_SCORE * free).astype(np.int64)
