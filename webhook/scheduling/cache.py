"""The scheduler's picture of the cluster: what the watch told, plus the placements just decided.

One thread owns it. All pods with a node count, whoever scheduled them; those that have ended don't, those
that are being deleted do until they are gone. Source: pkg/scheduler/backend/cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from webhook.scheduling.memory_forecast import MemoryForecast
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.objects import Node, Pod
from webhook.scheduling.storage import Storage
from webhook.scheduling.table import NodeTable, PlacedPod
from webhook.scheduling.waiting_pods import WaitingPods
from webhook.scheduling.workloads import Workloads

__all__ = ["Cache"]


class Cache:
    """Nodes and placed pods, as the columns of `table`, and what plugins ask for beside them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.table = NodeTable()
        self.memory = MemoryForecast(self.table.row_of, clock)
        self.workloads = Workloads()
        self.namespaces = Namespaces()
        self.storage = Storage()
        # Some of the assumed ones. Unlike all else here they may be asked for from any thread.
        self.waiting_pods = WaitingPods()
        self._placed: dict[str, PlacedPod] = {}
        self._assumed: set[str] = set()

    def set_node(self, node: Node) -> None:
        """Add or update a node. Pods that were on it while it was unknown count again."""
        is_new = self.table.row_of(node.name) is None
        self.table.put(node)
        if is_new:
            self.memory.append_row(node.name)

    def remove_node(self, name: str) -> None:
        """Drop a node; the pods on it are remembered until they are removed themselves."""
        row = self.table.row_of(name)
        self.table.remove(name)
        if row is not None:
            self.memory.swap_remove(row, name)

    def node_uid(self, name: str) -> str | None:
        """Return the uid of the node that has this name now, or None without such a node."""
        row = self.table.row_of(name)
        return None if row is None else self.table.node(row).metadata.uid

    def set_pod(self, pod: Pod) -> None:
        """Take over what the watch shows of a pod; the same event twice does no harm.

        A pod that was assumed is confirmed as soon as it shows a node, which may be another one. Until then
        the watch is behind and the assumption stands.
        """
        uid = pod.metadata.uid
        if pod.is_terminal:
            self.remove_pod(pod)
        elif pod.spec.node_name:
            self._assumed.discard(uid)
            self._move(pod, pod.spec.node_name)

    def remove_pod(self, pod: Pod) -> None:
        """Give back what a pod holds, assumed or not; does nothing if it holds nothing."""
        self._assumed.discard(pod.metadata.uid)
        self._release(pod.metadata.uid)

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count a pod on the node that was chosen for it, before it is bound.

        Raises ValueError for a pod that already has a node: deciding on it once more is a bug.
        """
        uid = pod.metadata.uid
        if uid in self._placed:
            raise ValueError(f"pod {pod.key} already is on node {self._placed[uid].node_name}")
        self._assumed.add(uid)
        self._move(pod, node_name)

    def forget(self, pod: Pod) -> None:
        """Take back an assumption after a failed bind; one that the watch has confirmed stays."""
        uid = pod.metadata.uid
        if uid in self._assumed:
            self._assumed.remove(uid)
            self._release(uid)

    @property
    def pod_count(self) -> int:
        """How many pods hold something, the assumed ones among them."""
        return len(self._placed)

    @property
    def assumed_count(self) -> int:
        """How many of them are on a node that the watch hasn't shown yet."""
        return len(self._assumed)

    def is_assumed(self, uid: str) -> bool:
        """Tell whether the pod is counted on a node that the watch hasn't shown yet."""
        return uid in self._assumed

    def node_of(self, uid: str) -> str | None:
        """The node that the pod counts on, or None."""
        placed = self._placed.get(uid)
        return None if placed is None else placed.node_name

    def _move(self, pod: Pod, node_name: str) -> None:
        before = self._placed.get(pod.metadata.uid)
        if before is not None:
            self.table.release(before)
        now = self._placed[pod.metadata.uid] = PlacedPod.of(pod, node_name)
        self.table.place(now)
        self.memory.moved(before, now)

    def _release(self, uid: str) -> None:
        placed = self._placed.pop(uid, None)
        if placed is not None:
            self.table.release(placed)
            self.memory.moved(placed, None)
