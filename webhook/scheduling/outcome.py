"""What one attempt to schedule a pod came to.

Every way to fail carries the same three things for the queue and the condition: the condition's
`reason`, the `message`, and `rejected_by`, the names under which events wake the pod (those in `pending_by` at once).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.messages import NO_NODES, fit_error_message
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Reason, Status

__all__ = [
    "Decision",
    "Diagnosis",
    "FitError",
    "Placement",
    "PluginFailure",
    "Rejection",
    "Unsupported",
]

UNSUPPORTED = "Unsupported"


@dataclass(frozen=True, slots=True)
class Placement:
    """The pod goes to this node."""

    pod: Pod
    node_name: str
    # Checked once more right before binding: the API server binds to nodes that are gone.
    node_uid: str
    evaluated_nodes: int
    feasible_nodes: int


class Rejection:
    """The nodes that one filter rejected, worked out when somebody asks: for most pods there are others.

    `asked` are the rows that it was asked about, `answers` its bits for each of them, 0 where the node is feasible.
    """

    __slots__ = ("_answers", "_asked", "plugin", "reasons")

    def __init__(
        self,
        plugin: str,
        asked: npt.NDArray[np.intp],
        answers: npt.NDArray[np.uint64],
        reasons: tuple[Reason, ...],
    ) -> None:
        self.plugin = plugin
        self.reasons = reasons
        self._asked = asked
        self._answers = answers

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """The rows of the rejected nodes, ascending."""
        return self._asked[self._rejected()]

    @property
    def bits(self) -> npt.NDArray[np.uint64]:
        """For each of them the bits of `reasons` that apply."""
        return self._answers[self._rejected()]

    def with_reason(self, index: int) -> npt.NDArray[np.intp]:
        """Return the rows for which `reasons[index]` applies."""
        applies: BoolArray = np.not_equal(self._answers & np.uint64(1 << index), 0)
        return self._asked[applies]

    def _rejected(self) -> BoolArray:
        return np.not_equal(self._answers, 0)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why no node was feasible, node by node."""

    all_nodes: int
    rejections: tuple[Rejection, ...] = ()
    # What holds for the nodes that no filter looked at, if a PreFilter plugin left nodes out.
    absent: Status = SUCCESS
    # Set when a PreFilter plugin refused the pod itself.
    pre_filter: Status | None = None
    narrowed_by: frozenset[str] = frozenset()

    def reason_counts(self) -> Counter[str]:
        """Return how many nodes give each reason; a node may give several."""
        counts: Counter[str] = Counter()
        for rejection in self.rejections:
            for index, reason in enumerate(rejection.reasons):
                nodes = len(rejection.with_reason(index))
                if nodes:
                    counts[reason.text] += nodes
        absent = self.all_nodes - sum(len(rejection.rows) for rejection in self.rejections)
        if absent:
            for text in self.absent.reasons:
                counts[text] += absent
        return counts

    def codes(self) -> npt.NDArray[np.int8]:
        """Return the code for each row of the table: UNSCHEDULABLE where preemption may help."""
        everywhere = self.pre_filter.code if self.pre_filter is not None else self.absent.code
        codes = np.full(self.all_nodes, everywhere, dtype=np.int8)
        for rejection in self.rejections:
            codes[rejection.rows] = Code.UNSCHEDULABLE
            for index, reason in enumerate(rejection.reasons):
                if reason.code is not Code.UNSCHEDULABLE:
                    codes[rejection.with_reason(index)] = reason.code
        return codes

    def pending_by(self) -> frozenset[str]:
        """Return those that did so with Pending: they will know at once when the pod can go on."""
        names = {
            rejection.plugin
            for rejection in self.rejections
            for index, reason in enumerate(rejection.reasons)
            if reason.code is Code.PENDING and len(rejection.with_reason(index))
        }
        if self.pre_filter is not None and self.pre_filter.code is Code.PENDING:
            names.add(self.pre_filter.plugin)
        return frozenset(names)

    def rejected_by(self) -> frozenset[str]:
        """Return the plugins that rejected nodes or the pod."""
        names = {rejection.plugin for rejection in self.rejections} | self.narrowed_by
        if self.pre_filter is not None and self.pre_filter.plugin:
            names.add(self.pre_filter.plugin)
        return frozenset(names)


@dataclass(frozen=True, slots=True)
class FitError:
    """No node is feasible now."""

    pod: Pod
    diagnosis: Diagnosis
    post_filter_message: str = ""
    nominated_node: str = ""
    reason: str = field(default="Unschedulable", init=False)

    @property
    def message(self) -> str:
        """The text of the condition and the event, word for word as kube-scheduler's."""
        if not self.diagnosis.all_nodes:
            return NO_NODES
        pre_filter = self.diagnosis.pre_filter
        return fit_error_message(
            all_nodes=self.diagnosis.all_nodes,
            reasons=self.diagnosis.reason_counts(),
            pre_filter="" if pre_filter is None else pre_filter.message,
            post_filter=self.post_filter_message,
        )

    @property
    def rejected_by(self) -> frozenset[str]:
        """The plugins whose events may make the pod schedulable; empty means any event."""
        return self.diagnosis.rejected_by()

    @property
    def pending_by(self) -> frozenset[str]:
        """Those of them whose events let the pod skip its backoff."""
        return self.diagnosis.pending_by()


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The pod uses what this scheduler can't honor yet, so it is left alone.

    `reason` isn't Unschedulable, on which cluster autoscalers would add nodes.
    """

    pod: Pod
    fields: tuple[str, ...]
    reason: str = field(default=UNSUPPORTED, init=False)
    rejected_by: frozenset[str] = field(default=frozenset({UNSUPPORTED}), init=False)
    pending_by: frozenset[str] = field(default=frozenset(), init=False)

    @property
    def message(self) -> str:
        """Which fields, and what to do."""
        return (
            f"custom-scheduler does not support {', '.join(self.fields)} yet; "
            "remove it or use another spec.schedulerName"
        )


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plugin raised or answered nonsense; the attempt counts as an error of the scheduler's."""

    pod: Pod
    plugin: str
    message: str
    reason: str = field(default="SchedulerError", init=False)
    rejected_by: frozenset[str] = field(default=frozenset(), init=False)
    pending_by: frozenset[str] = field(default=frozenset(), init=False)

    @property
    def status(self) -> Status:
        """The same as the plugin's answer at one extension point."""
        return Status(Code.ERROR, (self.message,), self.plugin)


Decision: TypeAlias = Placement | FitError | Unsupported | PluginFailure
