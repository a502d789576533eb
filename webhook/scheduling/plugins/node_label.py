"""NodeLabel: only nodes that carry certain labels, whatever their values. Off by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from webhook.scheduling.arguments import parse_args
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Handle, Local
from webhook.scheduling.plugins.hints import when_node_lets_in
from webhook.scheduling.status import Code, Reason

__all__ = ["NodeLabel", "NodeLabelArgs"]

_Key: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


class NodeLabelArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys that a node must all have."""

    labels: Annotated[tuple[_Key, ...], msgspec.Meta(min_length=1)] = ("custom",)


class NodeLabel:
    """Args: `labels`, the keys that a node must all have; `custom` alone if not given."""

    local = Local.NODE

    def __init__(self, args: Mapping[str, Any], _handle: Handle) -> None:
        self._labels = parse_args("NodeLabel", args, NodeLabelArgs).labels
        text = f"node(s) didn't have the required label(s) {', '.join(self._labels)}"
        self.reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node that has the labels, newly or by then."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
                when_node_lets_in(self.filter),
            ),
        )

    def filter(self, _pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where all labels are present."""
        mask = np.ones(len(nodes), dtype=np.bool_)
        for key in self._labels:
            mask &= ~nodes.labels(key).equal(None)
        return mask
