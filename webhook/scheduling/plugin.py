"""The extension points of the framework: what a plugin may implement, with kube-scheduler's names.

A plugin is any object with one or more of these methods; no base class is needed. Filter and score come
at two levels: over all nodes at once (`filter`, `score`), or node by node (`filter_node`, `score_node`),
which `webhook.scheduling.per_node` turns into the first.

Decisions run one after another on one thread, so a plugin may keep on itself what it worked out in
`pre_filter` or `pre_score` until the same decision's `filter` or `score`. The methods from `pre_bind` on run
on other threads, for several pods at once.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from webhook.scheduling.cache import Cache
from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import ClusterEvent, ClusterEventWithHint
from webhook.scheduling.nodes import NodeInfo, Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Diagnosis
from webhook.scheduling.status import Reason, Status
from webhook.scheduling.waiting_pods import WaitingPod

__all__ = [
    "MAX_NODE_SCORE",
    "BindPlugin",
    "ClosePlugin",
    "EventsPlugin",
    "Factory",
    "FilterPlugin",
    "Handle",
    "Local",
    "LocalPlugin",
    "Nomination",
    "NormalizePlugin",
    "PerNodeFilterPlugin",
    "PerNodeScorePlugin",
    "PermitPlugin",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreScorePlugin",
    "QueueSortPlugin",
    "Rejections",
    "ReservePlugin",
    "ScorePlugin",
    "Scores",
]

MAX_NODE_SCORE = 100

# True where the node is feasible; or one integer per node in which bit i stands for the plugin's
# `reasons[i]`, so 0 is feasible.
Rejections: TypeAlias = BoolArray | npt.NDArray[np.integer[Any]]
# One number per node; after normalization between 0 and MAX_NODE_SCORE.
Scores: TypeAlias = npt.NDArray[np.integer[Any] | np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Handle:
    """What a plugin gets from the framework when it is made.

    The cache belongs to the thread that decides. The waiting pods may be asked for, allowed and rejected from any.
    """

    scheduler_name: str
    cache: Cache

    def get_waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return the pod with this uid if it waits at Permit, for whichever plugin and profile."""
        return self.cache.waiting_pods.get(uid)

    def iterate_waiting_pods(self) -> Iterator[WaitingPod]:
        """Yield all pods that wait at Permit."""
        return iter(self.cache.waiting_pods)


@dataclass(frozen=True, slots=True)
class Nomination:
    """What a PostFilter plugin achieved: a node on which the pod will fit later, and a line about it."""

    message: str
    node_name: str = ""


class Local(enum.Enum):
    """What of a node a local plugin looks at."""

    NODE = "the Node object"
    NODE_AND_PODS = "the Node object and the pods placed there"


class Factory(Protocol):
    """Makes a plugin from its arguments in the configuration; raises ConfigurationError on wrong ones."""

    def __call__(self, args: Mapping[str, Any], handle: Handle, /) -> object:
        """Return the plugin."""


@runtime_checkable
class ClosePlugin(Protocol):
    """Has something to end or give back, such as a thread or a connection."""

    def close(self) -> None:
        """End it; called once, when nothing calls the plugin any more. Not on the thread that decides."""


@runtime_checkable
class EventsPlugin(Protocol):
    """Says which changes can lift the plugin's rejections. Without it, every change wakes the pod."""

    def events_to_register(self) -> tuple[ClusterEvent | ClusterEventWithHint, ...]:
        """Return the events to wait for; with a hint, only those of them that may help the pod in question."""


@runtime_checkable
class LocalPlugin(Protocol):
    """Promises to look at each node by itself, so its answers are kept and asked again only of nodes that changed.

    What `filter` (with its `reasons`) and `score` answer depends on nothing but the pod and what `local` says of that
    node. They get the pod as `local_view` shows it, without its name and uid, and are asked once for all pods that look
    alike. A plugin that has `pre_filter` or `pre_score`, which get all nodes, is asked as if it had no `local`.

    For built-in plugins it is more: the answers, those of `pre_filter` and `pre_score` too, depend on no more of the pod
    than its `signature`; they get a pod that has the same, and don't count on the latter two having been called for it.
    """

    @property
    def local(self) -> Local:
        """What it looks at."""


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """Keeps a pod out of the queue."""

    def pre_enqueue(self, pod: Pod, /) -> Status:
        """Return Success to let the pod in."""


@runtime_checkable
class QueueSortPlugin(Protocol):
    """Orders the queue."""

    def sort_key(self, pod: Pod, queued_at: float, /) -> tuple[float, ...]:
        """Return a key; the pod with the smallest goes first."""


@runtime_checkable
class PreFilterPlugin(Protocol):
    """Looks at the pod once before the nodes are filtered."""

    def pre_filter(self, pod: Pod, nodes: Nodes, /) -> Status | frozenset[str]:
        """Return Success; Skip to leave out this plugin's filter; a rejection of the pod; or the only node names."""


@runtime_checkable
class FilterPlugin(Protocol):
    """Says which nodes can run the pod."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it rejects: one reason for a bool answer, one per bit otherwise. Read after `filter`, but there from the start."""

    def filter(self, pod: Pod, nodes: Nodes, /) -> Rejections:
        """Return the answer for each node."""


@runtime_checkable
class PerNodeFilterPlugin(Protocol):
    """Says whether one node can run the pod."""

    def filter_node(self, pod: Pod, node: NodeInfo, /) -> str | None:
        """Return why not, or None."""


@runtime_checkable
class PostFilterPlugin(Protocol):
    """Tries to make room when no node is feasible."""

    def post_filter(self, pod: Pod, nodes: Nodes, diagnosis: Diagnosis, /) -> Nomination | Status:
        """Return a nomination, which ends the search; or an Unschedulable status to let the next plugin try.

        UnschedulableAndUnresolvable ends it too: no plugin can help.
        """


@runtime_checkable
class PreScorePlugin(Protocol):
    """Looks at the pod and the feasible nodes once before they are scored."""

    def pre_score(self, pod: Pod, nodes: Nodes, /) -> Status:
        """Return Success; or Skip to leave out this plugin's score."""


@runtime_checkable
class ScorePlugin(Protocol):
    """Ranks the feasible nodes."""

    def score(self, pod: Pod, nodes: Nodes, /) -> Scores:
        """Return a score for each node, higher is better."""


@runtime_checkable
class PerNodeScorePlugin(Protocol):
    """Ranks one feasible node."""

    def score_node(self, pod: Pod, node: NodeInfo, /) -> float:
        """Return the node's score, higher is better."""


@runtime_checkable
class NormalizePlugin(Protocol):
    """Brings the plugin's raw scores between 0 and MAX_NODE_SCORE."""

    def normalize_score(self, pod: Pod, scores: Scores, /) -> Scores:
        """Return the scores in range."""


@runtime_checkable
class ReservePlugin(Protocol):
    """Keeps accounts of placements that aren't bound yet."""

    def reserve(self, pod: Pod, node_name: str, /) -> Status:
        """Take note that the pod is about to be bound to the node."""

    def unreserve(self, pod: Pod, node_name: str, /) -> None:
        """Take note that it won't be after all. Also called for plugins whose `reserve` wasn't."""


@runtime_checkable
class PermitPlugin(Protocol):
    """Has the last word before binding, or keeps the pod waiting for it."""

    def permit(self, pod: Pod, node_name: str, /) -> Status:
        """Return Success; a rejection; or `wait(seconds)`, upon which the pod waits until somebody allows or rejects it.

        What it holds stays reserved meanwhile. If nobody does so in time (15 minutes at most), it is rejected.
        """


@runtime_checkable
class PreBindPlugin(Protocol):
    """Does what must be done before the pod is bound."""

    def pre_bind(self, pod: Pod, node_name: str, /) -> Status:
        """Return Success, or why the pod can't be bound."""


@runtime_checkable
class BindPlugin(Protocol):
    """Binds the pod itself, in place of the binder."""

    def bind(self, pod: Pod, node_name: str, /) -> Status:
        """Return Success when bound; or Skip to leave it to the next plugin and at last to the binder."""


@runtime_checkable
class PostBindPlugin(Protocol):
    """Is told about pods that are bound."""

    def post_bind(self, pod: Pod, node_name: str, /) -> None:
        """Take note that the pod is bound."""
