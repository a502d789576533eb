"""Which plugin fails again and again, so that no pod of its profile gets a node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from webhook.scheduling.status import Status

__all__ = ["Suspicion"]

# A pod that one plugin can't take is tried again after seconds, and others succeed meanwhile.
FAILURES_IN_A_ROW = 10


class Suspicion:
    """Counts, by profile and step, the pods in a row that the same plugin has failed. `suspect` gets its name and fault.

    Steps count apart: that a pod has passed the filters says nothing of the plugins that bind it.
    """

    def __init__(self, suspect: Callable[[str, str], None]) -> None:
        self._suspect = suspect
        self._in_a_row: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def judge(self, profile: str, step: str, faults: Sequence[Status]) -> None:
        """Take in what plugins have done wrong as one more pod came to this step; with no faults it has passed."""
        row = self._in_a_row[profile, step]
        if not faults:
            row.clear()
        for fault in faults:
            row[fault.plugin] += 1
            if row[fault.plugin] == FAILURES_IN_A_ROW:
                del row[fault.plugin]
                self._suspect(
                    fault.plugin, f"{FAILURES_IN_A_ROW} decisions in a row have failed: {fault.message}"
                )
