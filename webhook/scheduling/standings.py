"""The standings of pods by what makes them alike; each is brought up to date when such a pod comes again.

Between two decisions about like pods little more changes than the node that the first one took.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Set

import msgspec

from webhook.scheduling.local_view import local_view
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import Local, PreFilterPlugin, PreScorePlugin, Scores
from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.signature import signature
from webhook.scheduling.standing import Bits, Standing
from webhook.scheduling.status import Reason, Status
from webhook.scheduling.table import NodeTable

__all__ = ["PodStanding", "Standings"]

_encode = msgspec.msgpack.Encoder().encode


class Standings:
    """What is kept of the local plugins of a profile, for the `limit` kinds of pods that were asked for last.

    Built-in plugins are held to judge a node by the pod's signature; those of others may go by all that they see of
    the pod, so for them pods are alike that look alike.
    """

    def __init__(self, table: NodeTable, plugins: PluginSet, *, limit: int = 64) -> None:
        built_in, of_others = dict[str, Local](), dict[str, Local]()
        for name, local in plugins.local.items():
            (built_in if plugins.made[name].registration.is_built_in else of_others)[name] = local
        self._built_in = _Kept(table, built_in, signature, limit)
        self._of_others = _Kept(table, of_others, _encode, limit) if of_others else None

    def of(self, pod: Pod) -> Standing | PodStanding:
        """Return the standing of the pod and those like it."""
        built_in = self._built_in.of(pod)
        if self._of_others is None:
            return built_in
        return PodStanding(built_in, self._of_others.of(local_view(pod)), self._of_others.local.keys())


class PodStanding:
    """A pod's standings with built-in plugins and with those of others, as if they were one `Standing`."""

    def __init__(self, built_in: Standing, of_others: Standing, others: Set[str]) -> None:
        self._built_in = built_in
        self._of_others = of_others
        self._others = others

    def pre_filter(self, each: Enabled[PreFilterPlugin], nodes: Nodes) -> Status | frozenset[str]:
        """Return what the plugin says of these pods; raises PluginError."""
        return self._with(each.name).pre_filter(each, nodes)

    def pre_score(self, each: Enabled[PreScorePlugin], nodes: Nodes) -> Status:
        """Return what the plugin says of these pods; raises PluginError."""
        return self._with(each.name).pre_score(each, nodes)

    def filter(self, plugins: PluginSet, skip: Set[str]) -> None:
        """Take in how the nodes have changed for the local filters but those to skip; raises PluginError."""
        self._built_in.filter(plugins, skip)
        self._of_others.filter(plugins, skip)

    def rejections(self, name: str, nodes: Nodes) -> tuple[Bits, tuple[Reason, ...]] | None:
        """Return a filter's bits for these nodes and what they stand for, or None if it rejects no node at all."""
        return self._with(name).rejections(name, nodes)

    def score(self, plugins: PluginSet, skip: Set[str]) -> None:
        """Take in how the nodes have changed for the local scores but those to skip; raises PluginError."""
        self._built_in.score(plugins, skip)
        self._of_others.score(plugins, skip)

    def scores(self, name: str, nodes: Nodes) -> Scores:
        """Return a plugin's scores for these nodes, which aren't normalized; not to be written to."""
        return self._with(name).scores(name, nodes)

    def are_alike(self, name: str) -> bool:
        """Tell whether the plugin, whose scores are to be normalized, gave all nodes the same."""
        return self._with(name).are_alike(name)

    def total(self, nodes: Nodes) -> Scores:
        """Return the weighted sum of the scores that need no normalization for these nodes."""
        return self._built_in.total(nodes) + self._of_others.total(nodes)

    def _with(self, name: str) -> Standing:
        return self._of_others if name in self._others else self._built_in


class _Kept:
    """One standing for each kind of pod, which `key` tells apart."""

    def __init__(
        self, table: NodeTable, local: Mapping[str, Local], key: Callable[[Pod], bytes], limit: int
    ) -> None:
        self.local = local
        self._table = table
        self._key = key
        self._limit = limit
        self._standings: OrderedDict[bytes, Standing] = OrderedDict()

    def of(self, pod: Pod) -> Standing:
        key = self._key(pod)
        standing = self._standings.get(key)
        if standing is None:
            standing = self._standings[key] = Standing(pod, self._table, self.local)
            if len(self._standings) > self._limit:
                self._standings.popitem(last=False)
        else:
            self._standings.move_to_end(key)
        return standing
