from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from bench.memory_usage import PEERS, replay
from bench.replay import Arrival, Replay, draw_arrivals


def test_the_same_seed_draws_the_same_pods() -> None:
    assert draw_arrivals(3) == draw_arrivals(3) != draw_arrivals(4)


@pytest.mark.parametrize("seed", [0, 1])
def test_memory_is_spread_more_evenly_than_by_trimarans_rules_and_peaks_lower(seed: int) -> None:
    outcomes = replay(seed)

    for peer in PEERS:
        assert outcomes["ours"].highest < outcomes[peer].highest, peer
        assert outcomes["ours"].spread < outcomes[peer].spread, peer


def test_a_pod_fills_its_memory_while_it_starts_and_gives_it_back_when_it_ends() -> None:
    cluster = Replay()
    seen = []

    class First:
        def measured(self, now: float, usage: object) -> None:
            seen.append(float(cluster.usage().sum()))

        def scores(self, now: float, pod: object, arrival: Arrival) -> npt.NDArray[np.float64]:
            return cluster.usage() * 0

        def placed(self, now: float, arrival: Arrival, node: int) -> None:
            return

    cluster.run([Arrival(at=1, ends_at=40, name="a", request=100, usage=200)], First(), seed=0)

    assert seen[:4] == [0, 200, 200, 0]
