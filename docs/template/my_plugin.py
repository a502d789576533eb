"""MyPlugin: say here in one line what it likes and what it rejects.

Copy this file, rename it and the plugin, and delete what you don't need. docs/algorithms.md explains each part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Handle, Scores
from webhook.scheduling.registry import plugin
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status


class MyPluginArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The arguments in pluginConfig, with their defaults; a wrong one is refused by name."""

    enough_pods: int = 50


@plugin("MyPlugin")
class MyPlugin:
    """Args: `enoughPods`."""

    reasons = (Reason(Code.UNSCHEDULABLE, "node(s) had enough pods already"),)
    # Without pre_score, which sees all nodes, `local = Local.NODE_AND_PODS` could promise that what is said of a node
    # depends on it and the pod alone, and on nothing that each pod has of its own: no name, no uid.

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._enough = parse_args("MyPlugin", args, MyPluginArgs).enough_pods
        # The cluster as the scheduler knows it, for later.
        self._cache = handle.cache

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """Name what may lift a rejection: a pod goes, or a node comes."""
        return (
            ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE),
            ClusterEvent(Resource.NODE, Action.ADD),
        )

    def filter(self, _pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where there is room for one more."""
        return nodes.pod_counts < self._enough

    def pre_score(self, _pod: Pod, nodes: Nodes) -> Status:
        """Skip where there is nothing to choose by."""
        return SUCCESS if len(nodes) and nodes.pod_counts.any() else SKIP

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        """Like a node the better the fewer pods it has."""
        return MAX_NODE_SCORE - np.minimum(nodes.pod_counts, MAX_NODE_SCORE)
