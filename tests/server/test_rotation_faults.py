"""What may befall a cluster in each phase of a rotation: no replica serves what API servers don't trust."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from certs.authority import AUTHORITY_LIFETIME
from certs.bundle import certificates_in
from certs.custody import Phase
from certs.errors import NotYetValid, RotationUnderWay
from certs.leaf import LEAF_LIFETIME
from certs.store import start_rotation
from tests.server.world import SETTLE, Replica, World
from webhook.server.custodian import PRODUCT

PHASES: tuple[Phase, ...] = ("stable", "published", "switched")


def is_trusted(replica: Replica) -> bool:
    bundles = replica.world.configuration.bundles()
    return all(replica.serving.certificate in certificates_in(bundle) for bundle in bundles)


def look_until_stable(world: World, *replicas: Replica) -> None:
    for _ in range(20):
        for replica in replicas:
            replica.look()
            assert all(is_trusted(each) for each in replicas)
        if world.secret.phase == "stable":
            return
        world.pass_(SETTLE / 4)
    raise AssertionError(f"still in the phase {world.secret.phase}")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("data", [None, {}, {"ca.crt": b"garbage"}], ids=["deleted", "emptied", "garbage"])
def test_a_secret_that_is_lost_in_any_phase_is_put_back_as_it_was(
    phase: Phase, data: Mapping[str, bytes] | None
) -> None:
    world = World()
    replica, behind = world.replica("webhook-1"), world.replica("webhook-2")
    behind.look()
    world.reach(phase, replica)
    before = world.secret
    world.store.put(data)

    replica.look()

    assert world.secret.data == before.data
    assert is_trusted(replica)
    assert is_trusted(behind)


@pytest.mark.parametrize("phase", PHASES)
def test_whichever_replica_took_a_phase_further_may_die_and_another_goes_on(phase: Phase) -> None:
    world = World()
    dead, other = world.replica("webhook-1"), world.replica("webhook-2")
    other.look()
    old = other.serving
    world.reach(phase, dead)
    if phase == "stable":
        world.begin()

    for _ in range(10):
        other.look()
        assert is_trusted(other)
        world.pass_(SETTLE / 2)
    moved = other.serving.certificate
    world.pass_(LEAF_LIFETIME)
    other.look()

    assert moved != old.certificate
    assert world.secret.phase == "stable"
    assert world.secret.authority.trusted == (moved,)


@pytest.mark.parametrize("phase", PHASES)
def test_a_replica_that_joins_in_any_phase_serves_what_is_trusted(phase: Phase) -> None:
    world = World()
    first, behind = world.replica("webhook-1"), world.replica("webhook-2")
    behind.look()
    world.reach(phase, first)
    joined = world.replica("webhook-3")

    joined.look()
    is_ready_at_once = joined.custodian.faults() == []
    world.pass_(SETTLE)

    # It can't know whether a CA beside which another is served came into caBundle by a rotation, or just now.
    assert is_ready_at_once == (phase != "switched")
    assert joined.custodian.faults() == []
    assert is_trusted(joined)
    assert joined.serving.certificate == world.secret.authority.certificate


def test_a_machine_that_sleeps_through_a_rotation_is_trusted_when_it_wakes_up() -> None:
    world = World()
    awake, asleep = world.replica("webhook-1"), world.replica("webhook-2")
    asleep.look()
    old = asleep.serving
    world.reach("switched", awake)
    for _ in range(3):
        world.pass_(timedelta(days=1))
        awake.look()
    on_waking = is_trusted(asleep)

    look_until_stable(world, asleep, awake)

    assert on_waking
    assert asleep.serving.certificate == awake.serving.certificate != old.certificate


def test_a_machine_that_slept_for_longer_than_its_lease_takes_what_signs_at_once() -> None:
    world = World()
    awake, asleep = world.replica("webhook-1"), world.replica("webhook-2")
    asleep.look()
    world.reach("switched", awake)
    world.pass_(LEAF_LIFETIME)
    awake.look()
    assert not is_trusted(asleep)

    asleep.look()

    assert is_trusted(asleep)
    assert asleep.custodian.faults() == []


def test_an_api_server_whose_clock_is_behind_replaces_nothing() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.now -= AUTHORITY_LIFETIME

    with pytest.raises(NotYetValid):
        replica.look()

    assert world.store.writes == 0


def test_two_rotations_one_right_after_the_other_cut_off_nobody() -> None:
    world = World()
    replicas = [world.replica("webhook-1"), world.replica("webhook-2")]
    look_until_stable(world, *replicas)
    signers = [world.secret.authority.fingerprint]

    for _ in range(2):
        start_rotation(world.store, PRODUCT, clock=lambda: world.now)
        look_until_stable(world, *replicas)
        signers.append(world.secret.authority.fingerprint)

    assert len(set(signers)) == 3
    assert [each.serving.fingerprint for each in replicas] == signers[-1:] * 2
    assert len(world.secret.authority.trusted) == 1


@pytest.mark.parametrize("phase", ["published", "switched"])
def test_a_rotation_that_is_asked_for_during_another_is_refused_and_changes_nothing(phase: Phase) -> None:
    world = World()
    replica = world.replica()
    world.reach(phase, replica)
    before = world.secret.data

    with pytest.raises(RotationUnderWay, match=f"in the phase {phase}"):
        start_rotation(world.store, PRODUCT, clock=lambda: world.now)

    assert world.secret.data == before
