"""Looks that come late: what changed without one, and machines that slept before or during one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.authority import create_authority
from certs.custody import Custody
from certs.leaf import LEAF_LIFETIME
from tests.certs.memory_store import MemorySecret
from tests.server.world import SETTLE, World
from webhook.errors import ClusterError
from webhook.kube.replicas import ReplicaLease


def test_a_look_in_which_the_machine_slept_counts_for_nothing() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    before = replica.custodian.authority
    other = create_authority("custom-scheduler", world.now)
    world.configuration.put(other.bundle)
    world.store.put(Custody(authority=other).data)
    world.configuration.before_read = lambda: world.pass_(timedelta(days=3))

    with pytest.raises(ClusterError, match="looking anew"):
        replica.look()

    assert replica.custodian.authority is before


def test_a_look_in_which_the_machine_slept_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    replica = world.replica()
    world.reach("stable", replica)
    other = Custody(authority=create_authority("custom-scheduler", world.now))
    read = world.store.read

    def sleep_and_read() -> MemorySecret | None:
        world.pass_(timedelta(days=8))
        world.configuration.put(other.authority.bundle)
        world.store.put(other.data)
        return read()

    monkeypatch.setattr(world.store, "read", sleep_and_read)

    with pytest.raises(ClusterError, match="looking anew"):
        replica.look()

    assert world.store.writes == 0
    assert world.secret.data == other.data


def test_a_look_counts_for_nothing_either_where_the_machine_slept_in_its_last_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    replica = world.replica()
    live = world.leases.live

    def sleep_and_tell(now: datetime) -> list[ReplicaLease]:
        world.pass_(timedelta(days=8))
        return live(now)

    monkeypatch.setattr(world.leases, "live", sleep_and_tell)

    with pytest.raises(ClusterError, match="looking anew"):
        replica.look()


def test_a_replica_that_slept_for_longer_than_its_leaf_lasts_has_no_claim_on_its_ca() -> None:
    world = World()
    replica = world.replica()
    world.reach("stable", replica)
    before = replica.serving
    world.pass_(LEAF_LIFETIME)
    # Dropped meanwhile, and back since just now: there are API servers that don't know it.
    signer = world.switch(before)
    world.configuration.put(signer.bundle)

    replica.look()

    assert replica.serving.certificate == signer.certificate


def test_a_replica_that_became_ready_since_its_last_look_lets_no_other_ca_sign() -> None:
    world = World()
    running = world.replica()
    running.look()
    ours = create_authority("custom-scheduler", world.now)
    world.store.put(Custody(authority=ours).data)
    joined = world.replica("webhook-2")
    for _ in range(2):
        joined.look()
    waiting = joined.custodian.faults()
    world.pass_(SETTLE)
    ready = joined.custodian.faults()
    world.store.put(Custody(authority=create_authority("custom-scheduler", world.now)).data)

    joined.look()

    assert waiting
    assert not ready
    assert joined.serving.certificate == ours.certificate
