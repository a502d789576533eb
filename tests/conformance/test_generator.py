from __future__ import annotations

from tests.conformance.generator import ALL_FEATURES, scenario


def test_a_seed_always_gives_the_same_scenario() -> None:
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)


def test_every_feature_that_a_scenario_has_is_counted() -> None:
    drawn = frozenset[str]().union(*(scenario(seed).features for seed in range(60)))

    assert drawn == frozenset(ALL_FEATURES)
