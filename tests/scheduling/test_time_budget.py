from __future__ import annotations

import pytest

from webhook.observe.plugin_metrics import usage
from webhook.scheduling.time_budget import TimeBudget


def test_a_call_over_budget_is_counted_and_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    budget = TimeBudget(seconds=0.1, clock=lambda: now)

    for _ in range(3):
        budget.report("Slow", "Score", "Success", 0.25)
    told = [record.getMessage() for record in caplog.records]
    now = 60.0
    budget.report("Slow", "Score", "Success", 0.25)

    assert told == ["plugin Slow took 250 ms in Score, over its budget of 100 ms; pods wait for it"]
    assert len(caplog.records) == 2
    assert (usage()["Slow"].over_budget, usage()["Slow"].calls) == (4, 4)


def test_a_call_within_budget_is_only_timed(caplog: pytest.LogCaptureFixture) -> None:
    TimeBudget(seconds=0.1).report("Quick", "Score", "Success", 0.1)

    assert caplog.records == []
    assert (usage()["Quick"].over_budget, usage()["Quick"].calls) == (0, 1)
