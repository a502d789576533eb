"""Plugins that look at one node at a time, made to answer for all nodes at once."""

from __future__ import annotations

from numbers import Real

import numpy as np

from webhook.scheduling.containment import MAX_REASONS
from webhook.scheduling.nodes import NodeInfo, Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import (
    FilterPlugin,
    PerNodeFilterPlugin,
    PerNodeScorePlugin,
    Rejections,
    ScorePlugin,
    Scores,
)
from webhook.scheduling.status import Code, Reason

__all__ = ["PerNodeFilter", "PerNodeScore", "as_filter", "as_score"]


def as_filter(name: str, plugin: object) -> FilterPlugin | None:
    """Return the plugin as a filter over all nodes, or None if it is no filter at either level."""
    if isinstance(plugin, FilterPlugin):
        return plugin
    return PerNodeFilter(name, plugin) if isinstance(plugin, PerNodeFilterPlugin) else None


def as_score(plugin: object) -> ScorePlugin | None:
    """Return the plugin as a score over all nodes, or None if it doesn't score at either level."""
    if isinstance(plugin, ScorePlugin):
        return plugin
    return PerNodeScore(plugin) if isinstance(plugin, PerNodeScorePlugin) else None


class PerNodeFilter:
    """A FilterPlugin that asks `filter_node` for each node. Preemption may help against its reasons."""

    def __init__(self, name: str, plugin: PerNodeFilterPlugin) -> None:
        self._name = name
        self._plugin = plugin
        self._texts: list[str] = []

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The different texts of the last answer, in order of their first node."""
        return tuple(Reason(Code.UNSCHEDULABLE, text) for text in self._texts)

    def filter(self, pod: Pod, nodes: Nodes, /) -> Rejections:
        """Return the bit of each node's reason; raises TypeError for an answer that isn't a text or None."""
        bit_of: dict[str, int] = {}
        bits = np.zeros(len(nodes), dtype=np.uint64)
        for position, node in enumerate(nodes):
            text: object = self._plugin.filter_node(pod, node)
            if text is None:
                continue
            if not isinstance(text, str) or not text:
                raise TypeError(
                    f"filter_node answered {text!r} for node {node.name}, expected a reason or None"
                )
            # The last one stands for all others.
            if text not in bit_of and len(bit_of) >= MAX_REASONS - 1:
                text = f"node(s) were rejected by {self._name} for other reasons"
            bits[position] = 1 << bit_of.setdefault(text, len(bit_of))
        self._texts = list(bit_of)
        return bits


class PerNodeScore:
    """A ScorePlugin that asks `score_node` for each node."""

    def __init__(self, plugin: PerNodeScorePlugin) -> None:
        self._plugin = plugin

    def score(self, pod: Pod, nodes: Nodes, /) -> Scores:
        """Return the scores; raises TypeError for an answer that isn't a number."""
        scores = (_checked_number(self._plugin.score_node(pod, node), node) for node in nodes)
        return np.fromiter(scores, dtype=np.float64, count=len(nodes))


def _checked_number(answer: object, node: NodeInfo) -> float:
    # numpy would take texts and bools for numbers too.
    if isinstance(answer, Real) and not isinstance(answer, bool):
        return float(answer)
    raise TypeError(f"score_node answered {answer!r} for node {node.name}, expected a number")
