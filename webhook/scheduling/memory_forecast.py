"""How much memory each node will soon use: what was measured, and what has come and gone since.

A measurement lags behind. Without the pods placed since, a burst would go as a whole to the node that looked
emptiest; with them for ever, they would count twice as soon as the measurement has them. So a pod counts with
what is predicted for it until a measurement was begun well after the pod was placed. Koordinator's LoadAware
keeps the same account (pkg/scheduler/plugins/loadaware, podAssignCache).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import IntArray
from webhook.scheduling.objects import NodeMetrics, Pod
from webhook.scheduling.quantity import InvalidQuantity, ceil_units, parse_nanos
from webhook.scheduling.resources import DEFAULT_MEMORY_BYTES, MEMORY, incoming_requests
from webhook.scheduling.table import PlacedPod

__all__ = ["MemoryForecast", "predicted_memory"]

_Seconds = npt.NDArray[np.float64]

# From its placement a pod takes this long to have its memory, image pull and start included.
START_SECONDS = 30.0
# No measurement for so long: the pods placed before are no news any more.
FORGET_SECONDS = 600.0
DEFAULT_WINDOW_SECONDS = 30.0

_FIRST_ROWS = 64
_NEVER = -np.inf
_GO_DURATION = re.compile(r"([0-9.]+)(h|ms|m|s|us|µs|ns)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def predicted_memory(pod: Pod) -> int:
    """Return how many bytes a pod will use: what it requests, between 200 MiB and its limit.

    200 MiB is what kube-scheduler's scores take for a container that requests nothing
    (pkg/scheduler/util/pod_resources.go).
    """
    predicted = max(incoming_requests(pod).get(MEMORY, 0), DEFAULT_MEMORY_BYTES)
    limit = _memory_limit(pod)
    return predicted if limit is None else min(predicted, limit)


def _memory_limit(pod: Pod) -> int | None:
    """Return the limit of the whole pod, in bytes; None where a container has none."""
    whole = pod.spec.resources
    if whole is not None and MEMORY in whole.limits:
        return ceil_units(parse_nanos(whole.limits[MEMORY]))
    limits = [container.resources.limits.get(MEMORY) for container in pod.containers]
    if not limits or None in limits:
        return None
    return ceil_units(sum(parse_nanos(limit) for limit in limits if limit is not None))


@dataclass(slots=True)
class _Account:
    """One node: bytes measured, when that was first seen, and since then the pods that came and the bytes that went."""

    timestamp: str = ""
    measured: int = 0
    measured_at: float = _NEVER
    young: dict[str, tuple[float, int]] = field(default_factory=dict)
    gone: int = 0

    def estimate(self) -> int:
        return max(0, self.measured + sum(predicted for _, predicted in self.young.values()) - self.gone)

    def drop_young(self, moment: float) -> bool:
        """Take the pods placed before that moment for measured; tell whether there were any."""
        before = len(self.young)
        self.young = {uid: entry for uid, entry in self.young.items() if entry[0] >= moment}
        return len(self.young) < before


class MemoryForecast:
    """Bytes and age per row of the node table. It keeps no account until a plugin asks for it with `begin`.

    Ages are counted from when a measurement was first seen, by our own clock: those of the nodes may be wrong.
    """

    def __init__(self, row_of: Callable[[str], int | None], clock: Callable[[], float]) -> None:
        self.in_use = False
        self._row_of = row_of
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._estimates = np.zeros(_FIRST_ROWS, dtype=np.int64)
        self._measured_at = np.full(_FIRST_ROWS, _NEVER)
        self._length = 0

    def begin(self) -> None:
        """Keep account from now on. Pods that are placed already are taken for measured."""
        self.in_use = True

    def append_row(self, name: str) -> None:
        """Add the node of that name in the row after the last."""
        if self._length == len(self._estimates):
            self._estimates = np.concatenate([self._estimates, np.zeros_like(self._estimates)])
            self._measured_at = np.concatenate([self._measured_at, np.full_like(self._measured_at, _NEVER)])
        self._length += 1
        self._show(name, self._length - 1)

    def swap_remove(self, row: int, name: str) -> None:
        """Drop the node in a row; the last one takes its place. Another node may come under its name."""
        self._length -= 1
        for column in (self._estimates, self._measured_at):
            column[row] = column[self._length]
        self._accounts.pop(name, None)

    def moved(self, before: PlacedPod | None, now: PlacedPod | None) -> None:
        """Take note of where a pod counts now, assumed or bound; the same node again is no news."""
        if not self.in_use or (before and now and before.node_name == now.node_name):
            return
        if before is not None:
            self._leave(before)
        if now is not None:
            self._arrive(now)

    def measure(self, measurements: Iterable[NodeMetrics]) -> None:
        """Take over what was read; nodes that are absent from it keep what is known, which ages."""
        now = self._clock()
        for each in measurements:
            try:
                measured = ceil_units(parse_nanos(each.usage[MEMORY]))
            except (KeyError, InvalidQuantity):
                continue
            account = self._accounts.setdefault(each.metadata.name, _Account())
            if account.timestamp != each.timestamp:
                account.timestamp, account.measured, account.measured_at = each.timestamp, measured, now
                account.gone = 0
                account.drop_young(now - _seconds(each.window) - START_SECONDS)
                self._show_known(each.metadata.name)
        self._drop_stale(now - FORGET_SECONDS)

    def estimates(self) -> IntArray:
        """Return the bytes that each node of the cluster will soon use; means nothing where the age is infinite."""
        return self._estimates[: self._length]

    def ages(self) -> _Seconds:
        """Return the seconds since the measurement of each node was first seen, infinite where there is none."""
        return self._clock() - self._measured_at[: self._length]

    def age(self) -> float:
        """Return the seconds since anything new was measured, infinite before the first time."""
        return float(np.min(self.ages(), initial=np.inf))

    def _drop_stale(self, moment: float) -> None:
        for name, account in list(self._accounts.items()):
            if account.young and account.drop_young(moment):
                self._show_known(name)
            if not account.young and account.measured_at < moment and self._row_of(name) is None:
                del self._accounts[name]

    def _arrive(self, placed: PlacedPod) -> None:
        # One that is met running (in the first list, or after an interruption) has its memory already.
        if placed.pod.status.phase == "Running":
            return
        account = self._accounts.setdefault(placed.node_name, _Account())
        account.young[placed.pod.metadata.uid] = self._clock(), predicted_memory(placed.pod)
        self._show_known(placed.node_name)

    def _leave(self, placed: PlacedPod) -> None:
        account = self._accounts.get(placed.node_name)
        if account is None:
            return
        if account.young.pop(placed.pod.metadata.uid, None) is None:
            account.gone += predicted_memory(placed.pod)
        self._show_known(placed.node_name)

    def _show_known(self, name: str) -> None:
        row = self._row_of(name)
        if row is not None:
            self._show(name, row)

    def _show(self, name: str, row: int) -> None:
        account = self._accounts.get(name)
        self._estimates[row] = 0 if account is None else account.estimate()
        self._measured_at[row] = _NEVER if account is None else account.measured_at


@lru_cache(maxsize=256)
def _seconds(go_duration: str) -> float:
    """Read `1m30s` and the like; what can't be read is taken for the usual window."""
    parts = _GO_DURATION.findall(go_duration)
    try:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts) or DEFAULT_WINDOW_SECONDS
    except ValueError:
        return DEFAULT_WINDOW_SECONDS
