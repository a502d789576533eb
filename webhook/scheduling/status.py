"""What a plugin says about a pod: one of kube-scheduler's status codes, with reasons."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["SKIP", "SUCCESS", "Code", "Reason", "Status", "wait"]


class Code(enum.IntEnum):
    """Status codes with kube-scheduler's names and values (framework/interface.go)."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The name as kube-scheduler writes it."""
        return self.name.title().replace("_", "")

    @property
    def is_rejection(self) -> bool:
        """The plugin ran well and refuses the pod for now."""
        return self in _REJECTIONS


_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Reason:
    """One way in which a filter refuses a node: the code decides on preemption, people read the text."""

    code: Code
    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """The answer of one plugin at one extension point; `plugin` is filled in by the framework.

    With the code WAIT, which Permit alone may answer, `timeout` says how many seconds the pod waits at most.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    timeout: float = 0.0

    @property
    def is_success(self) -> bool:
        """The pod may go on."""
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """All reasons in one line, as kube-scheduler joins them."""
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """Return the same answer with its author's name."""
        return Status(self.code, self.reasons, plugin, self.timeout)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def wait(seconds: float) -> Status:
    """Return a Permit plugin's answer that the pod shall wait until somebody allows it, for so many seconds at most."""
    return Status(Code.WAIT, timeout=seconds)
