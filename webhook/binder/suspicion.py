"""Which plugin fails again and again, so that no pod of its profile gets a node."""

from __future__ import annotations

from collections.abc import Callable

from webhook.scheduling.outcome import Decision, PluginFailure

__all__ = ["Suspicion"]

# A pod that one plugin can't take is tried again after seconds, and others succeed meanwhile.
FAILURES_IN_A_ROW = 10


class Suspicion:
    """Counts, by profile, the decisions in a row that the same plugin has failed. `suspect` gets its name and fault."""

    def __init__(self, suspect: Callable[[str, str], None]) -> None:
        self._suspect = suspect
        self._in_a_row: dict[tuple[str, str], int] = {}

    def judge(self, decision: Decision) -> None:
        """Take in how a decision has ended."""
        profile = decision.pod.spec.scheduler_name
        if not isinstance(decision, PluginFailure):
            self._in_a_row = {key: count for key, count in self._in_a_row.items() if key[0] != profile}
            return
        key = profile, decision.plugin
        self._in_a_row[key] = self._in_a_row.get(key, 0) + 1
        if self._in_a_row[key] == FAILURES_IN_A_ROW:
            del self._in_a_row[key]
            self._suspect(
                decision.plugin, f"{FAILURES_IN_A_ROW} decisions in a row have failed: {decision.message}"
            )
