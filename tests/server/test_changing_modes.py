"""From self-signed certificates to those of cert-manager and back: no leaf is ever served that an API server refuses."""

from __future__ import annotations

import pytest

from certs.bundle import certificates_in
from certs.neighbours import KEEP_SECONDS, Neighbours
from certs.store import start_rotation
from tests.server.changing_world import STALENESS_SECONDS, World

SEEDS = range(6)


def trust_both(world: World) -> None:
    world.configuration.is_injected = True
    world.until(world.both_are_trusted)
    world.wait(STALENESS_SECONDS)


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed {seed}")
def world(request: pytest.FixtureRequest) -> World:
    """Two replicas with self-signed certificates; the seed says when each does what."""
    return World(request.param)


def test_by_the_steps_of_the_guide_there_and_back(world: World) -> None:
    trust_both(world)
    world.roll(world.files)
    world.wait(STALENESS_SECONDS)

    world.configuration.is_injected = False
    world.roll(world.self_signed)
    world.wait(STALENESS_SECONDS)

    assert world.checks > 300


def test_back_by_a_step_in_which_both_are_trusted(world: World) -> None:
    trust_both(world)
    world.roll(world.files)
    world.wait(STALENESS_SECONDS)

    world.roll(world.self_signed)
    world.configuration.is_injected = False
    world.wait(STALENESS_SECONDS)


def test_there_and_back_before_the_rollout_was_over(world: World) -> None:
    trust_both(world)
    world._called[0].leave()
    world._called[0] = world.files()
    world.wait(world.rng.randint(1, 30))

    world.configuration.is_injected = False
    world.roll(world.self_signed)
    world.wait(STALENESS_SECONDS)


def test_back_after_the_secret_of_our_ca_was_deleted(world: World) -> None:
    trust_both(world)
    world.roll(world.files)
    world.store.put(None)

    world.configuration.is_injected = False
    world.roll(world.self_signed)
    world.wait(STALENESS_SECONDS)


def test_a_rotation_of_ours_where_both_are_trusted(world: World) -> None:
    trust_both(world)
    before = certificates_in(world.configuration.bundles()[0])
    start_rotation(world.store, "custom-scheduler", clock=world.time)

    world.wait(5 * STALENESS_SECONDS)

    after = certificates_in(world.configuration.bundles()[0])
    assert len(before) == len(after) == 2
    assert before[0] != after[0]
    assert before[1] == after[1] == world.issuer.certificate


def test_a_new_ca_of_cert_manager_where_both_are_trusted(world: World) -> None:
    trust_both(world)
    world.rotate_cert_manager()
    world.until(world.both_are_trusted)
    world.wait(STALENESS_SECONDS)

    world.roll(world.files)


def test_the_ca_of_cert_manager_goes_an_hour_after_the_change_back() -> None:
    world = World(1)
    trust_both(world)
    world.roll(world.files)
    world.configuration.is_injected = False
    world.roll(world.self_signed)
    at_first = certificates_in(world.configuration.bundles()[0])

    world.now += int(KEEP_SECONDS)
    world.wait(STALENESS_SECONDS)

    assert world.issuer.certificate in at_first
    assert world.issuer.certificate not in certificates_in(world.configuration.bundles()[0])


def test_replicas_that_drop_the_ca_of_others_at_once_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(1)
    trust_both(world)
    world.roll(world.files)
    monkeypatch.setattr(Neighbours, "stays", lambda *_: False)
    world.configuration.is_injected = False

    with pytest.raises(AssertionError, match="a leaf of CN=cert-manager CA"):
        world.roll(world.self_signed)


def test_replicas_that_are_ready_before_their_ca_is_known_would_be_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(1)
    trust_both(world)
    world.roll(world.files)
    world.store.put(None)
    monkeypatch.setattr("webhook.server.registration.Registration._joins", lambda *_: False)
    world.configuration.is_injected = False

    with pytest.raises(AssertionError, match="a leaf of CN=custom-scheduler CA"):
        world.roll(world.self_signed)


def test_a_rollout_before_the_other_ca_is_trusted_would_be_caught() -> None:
    world = World(1)

    with pytest.raises(AssertionError, match="a leaf of CN=cert-manager CA"):
        world.roll(world.files)
