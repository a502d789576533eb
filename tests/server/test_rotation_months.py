"""Two years of rotations, renewals and faults: no call that an API server makes is refused."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from tests.server.simulation import World

TWENTY_FOUR_MONTHS = timedelta(days=730)
FIRST, COUNT = (
    int(os.environ.get(name, default)) for name, default in (("ROTATION_START", 0), ("ROTATION_SEEDS", 1))
)


# Seven seconds each, and many times that where several run beside other work.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_at_every_moment_each_leaf_verifies_at_each_api_server_however_stale(seed: int) -> None:
    world = World(seed)

    world.run(TWENTY_FOUR_MONTHS)

    assert len(world.cas) >= 3
    assert world.met >= {"stable", "published", "switched"}
    assert world.checks > 10_000
