"""What was said of each node on the way to one decision."""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.scheduling.containment import PluginError
from webhook.scheduling.outcome import Diagnosis
from webhook.scheduling.plugin import Scores
from webhook.scheduling.table import Rows

__all__ = ["Record"]


@dataclass(slots=True)
class Record:
    """Filled in by `Framework.schedule`, as far as the decision came.

    `feasible` are rows of the table; the weighted `scores`, by plugin, and their `total` are in the same order. Where a
    plugin failed on the way to the total, `ranking_fault` tells of it, and `scores` has those that came before.
    """

    diagnosis: Diagnosis | None = None
    feasible: Rows | None = None
    scores: dict[str, Scores] = field(default_factory=dict)
    total: Scores | None = None
    ranking_fault: PluginError | None = None
