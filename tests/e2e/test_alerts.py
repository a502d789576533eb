"""Each alert fires when it has to and not otherwise, as Prometheus' own engine evaluates it."""

from __future__ import annotations

import pytest

from tests.e2e.alert_cases import FIRING, SILENT, Case
from tests.promql.engine import Series, evaluate
from tests.promql.made_up import EPOCH
from tests.promql.observability import Alert, alerts


def firing(alert: Alert, given: list[Series]) -> list[dict[str, str]]:
    """Return the labels of each alert that fires in the last minute: its expression has held for long enough."""
    (answer,) = evaluate([alert.expr], given, step=60, epoch=EPOCH)
    assert answer.error == ""
    needed = alert.for_seconds // 60 + 1
    return [found.labels for found in answer.series if None not in found.values[-needed:]]


def named(case: Case) -> str:
    return f"{case.alert}: {case.what}"


@pytest.mark.parametrize("case", FIRING, ids=named)
def test_an_alert_fires(case: Case) -> None:
    alert = alerts()[case.alert]

    found = firing(alert, case.series)

    assert len(found) == 1
    assert alert.labels_in_texts() <= set(found[0])


@pytest.mark.parametrize("case", SILENT, ids=named)
def test_an_alert_stays_silent(case: Case) -> None:
    assert firing(alerts()[case.alert], case.series) == []


def test_each_alert_is_tried_both_ways() -> None:
    assert {case.alert for case in FIRING} == {case.alert for case in SILENT} == set(alerts())
