from __future__ import annotations

import pytest

from tests.conformance.run import Run

_ENOUGH = 100  # seeds, for shares to mean something


def test_no_answer_differs_from_that_of_kube_scheduler(conformance: Run) -> None:
    told = [
        f"{record.scenario.name}, {record.attempts[index].pod['metadata']['name']}: {'; '.join(differences)}"
        for record, (index, differences) in conformance.disagreements
    ]

    assert not told, "\n".join([*told, *conformance.remarks])


def test_each_feature_is_in_one_seed_of_twenty(conformance: Run) -> None:
    if conformance.seeds < _ENOUGH:
        pytest.skip(f"{conformance.seeds} seeds are too few")

    rare = [name for name, seeds in conformance.features.items() if conformance.share(seeds) < 0.05]

    assert rare == []


def test_three_seeds_of_ten_have_unschedulable_pods(conformance: Run) -> None:
    assert conformance.share(conformance.unschedulable) >= 0.3
