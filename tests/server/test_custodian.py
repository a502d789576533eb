"""The CA at a start, and what one replica makes of Secret, caBundle and Leases."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from certs.authority import AUTHORITY_LIFETIME, create_authority
from certs.custody import Custody
from certs.errors import Expired
from certs.leaf import LEAF_LIFETIME
from tests.certs.memory_store import MemorySecret
from tests.server.world import SETTLE, World
from webhook.errors import ApiError
from webhook.server.custodian import LOOK_SECONDS


def test_a_replica_tells_the_others_what_it_serves_before_it_is_counted_on() -> None:
    world = World()
    told: list[str] = []
    world.configuration.before_patch = lambda: told.extend(
        lease.fingerprint for lease in world.leases.live(world.now)
    )

    world.replica().look()

    assert told == [world.custody.authority.fingerprint]


def test_a_replica_that_can_not_tell_is_not_counted_on() -> None:
    world = World()
    replica = world.replica()
    world.leases.refusal = ApiError("forbidden", status=403)

    with pytest.raises(ApiError):
        replica.look()

    assert replica.custodian.faults() != []
    assert world.configuration.writes == 0


def test_a_replica_tells_that_it_moves_before_it_serves_another_ca() -> None:
    world = World()
    replica = world.replica()
    world.reach("published", replica)
    old = replica.serving
    world.pass_(SETTLE)

    replica.custodian.follow(replica.serving)
    (moving,) = world.leases.live(world.now)
    new = replica.custodian.authority
    replica.custodian.hold(new)
    (moved,) = world.leases.live(world.now)

    assert new.certificate != old.certificate
    assert moving.fingerprints == {old.fingerprint, new.fingerprint}
    assert moved.fingerprints == {new.fingerprint}


def test_a_replica_that_moves_sees_that_an_older_state_was_put_back_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    replica = world.replica()
    world.reach("published", replica)
    world.pass_(SETTLE)
    before = replace(replica.serving, trusted=(replica.serving.certificate,))
    hold = world.leases.hold

    def hold_late(name: str, fingerprint: str, *, following: str | None = None, **times: datetime) -> None:
        if following is not None:
            world.store.put(Custody(authority=before).data)
            world.configuration.put(before.bundle)
        hold(name, fingerprint, following=following, **times)

    monkeypatch.setattr(world.leases, "hold", hold_late)

    replica.look()

    assert replica.serving.certificate == before.certificate


def test_a_replica_that_can_not_tell_that_it_moves_stays() -> None:
    world = World()
    replica = world.replica()
    world.reach("published", replica)
    old = replica.serving
    world.pass_(SETTLE)
    replica.custodian.hold(old)
    world.configuration.before_read = lambda: setattr(
        world.leases, "refusal", ApiError("refused", status=403)
    )

    with pytest.raises(ApiError):
        replica.custodian.follow(replica.serving)

    assert replica.custodian.authority.certificate == old.certificate


def test_a_lease_is_renewed_each_half_minute_and_not_at_each_look() -> None:
    world = World()
    replica = world.replica()

    for _ in range(10):
        replica.look()
    world.pass_(timedelta(seconds=30))
    replica.look()

    assert world.leases.writes == 2


def test_a_replica_that_leaves_takes_its_word_back() -> None:
    world = World()
    replica = world.replica()
    replica.look()

    replica.custodian.leave()

    assert world.leases.live(world.now) == []


def test_a_rotation_goes_through_its_phases_by_itself() -> None:
    world = World()
    replica = world.replica()
    old = replica.serving
    replica.look()
    new = world.begin()

    replica.look()  # publishes
    replica.look()  # sees it published
    world.pass_(SETTLE - timedelta(seconds=1))
    replica.look()
    early = replica.serving.certificate, world.secret.phase
    world.pass_(timedelta(seconds=1))
    replica.look()
    switched = replica.serving.certificate, world.secret.phase
    replica.look()

    assert early == (old.certificate, "published")
    assert switched == (new.certificate, "switched")
    assert world.secret.phase == "stable"
    assert world.secret.authority.trusted == (new.certificate,)


def test_the_old_ca_stays_while_another_replica_serves_it() -> None:
    world = World()
    first, second = world.replica("webhook-1"), world.replica("webhook-2")
    first.look()
    second.look()
    world.begin()
    first.look()
    first.look()
    world.pass_(SETTLE)

    for _ in range(5):
        first.look()
    waiting = world.secret.phase
    second.look()
    still_waiting = world.secret.phase
    world.pass_(SETTLE)
    second.look()
    first.look()

    # second saw the new CA in caBundle only then, and gives the API servers their time.
    assert (waiting, still_waiting) == ("switched", "switched")
    assert world.secret.phase == "stable"
    assert second.serving.certificate == first.serving.certificate


def test_the_lease_of_a_replica_that_died_counts_until_its_last_certificate_has_ended() -> None:
    world = World()
    first, dead = world.replica("webhook-1"), world.replica("webhook-2")
    first.look()
    dead.look()
    world.begin()
    first.look()
    first.look()
    world.pass_(SETTLE)
    first.look()

    world.pass_(LEAF_LIFETIME - SETTLE - timedelta(seconds=1))
    first.look()
    waiting = world.secret.phase
    world.pass_(timedelta(seconds=1))
    first.look()

    assert waiting == "switched"
    assert world.secret.phase == "stable"


def test_a_replica_that_joins_in_each_phase_serves_what_signs() -> None:
    world = World()
    first = world.replica("webhook-1")
    old = first.serving
    first.look()
    new = world.begin()
    first.look()

    joined_published = world.replica("webhook-2")
    joined_published.look()
    first.look()
    world.pass_(SETTLE)
    first.look()
    joined_switched = world.replica("webhook-3")
    joined_switched.look()

    assert joined_published.serving.certificate == old.certificate
    assert joined_switched.serving.certificate == new.certificate
    assert world.secret.phase == "switched"


def test_a_bundle_wiped_while_a_ca_settles_begins_its_time_anew() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.begin()
    replica.look()
    replica.look()
    world.pass_(SETTLE - timedelta(seconds=1))
    world.configuration.wipe()
    replica.look()
    world.pass_(timedelta(seconds=1))

    replica.look()

    assert world.secret.phase == "published"


def test_where_nothing_is_registered_a_rotation_goes_on_once_that_is_known() -> None:
    world = World()
    world.configuration.webhooks = None
    replica = world.replica()
    new = world.begin()

    replica.look()
    early = world.secret.phase
    world.pass_(SETTLE)
    replica.look()
    replica.look()

    assert early == "published"
    assert replica.serving.certificate == new.certificate
    assert world.secret.phase == "stable"


def test_an_older_state_put_back_into_the_secret_makes_nobody_serve_an_untrusted_ca() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.begin()
    older = world.secret
    for _ in range(4):
        replica.look()
        world.pass_(SETTLE)
    assert world.secret.phase == "stable"
    new = replica.serving

    world.store.put(older.data)
    replica.look()

    # The API servers still trust the new one alone.
    assert replica.serving.certificate == new.certificate
    assert set(world.secret.authority.trusted) >= {new.certificate}


def test_another_ca_put_into_the_secret_cuts_off_nobody() -> None:
    world = World()
    replica, other = world.replica("webhook-1"), world.replica("webhook-2")
    before = replica.serving
    replica.look()
    other.look()
    theirs = create_authority("theirs", world.now)
    world.store.put(Custody(authority=theirs).data)

    replica.look()
    at_first = replica.serving.certificate, world.configuration.bundles()
    replica.look()
    other.look()
    world.pass_(SETTLE)
    for each in (replica, other, replica):
        each.look()

    assert at_first == (before.certificate, [before.bundle + theirs.bundle])
    assert replica.serving.certificate == other.serving.certificate == theirs.certificate
    assert world.configuration.bundles() == [theirs.bundle]


@pytest.mark.parametrize(
    "error",
    [timedelta(days=-800), timedelta(hours=-2), timedelta(hours=2), timedelta(days=800)],
    ids=str,
)
def test_a_machine_whose_clock_is_wrong_follows_and_decides_nothing(
    error: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world = World()
    replica = world.replica()
    replica.look()
    new = world.begin()
    world.machine += error

    for _ in range(5):
        replica.look()
        world.pass_(SETTLE)
    stayed = world.secret.phase
    bundle = world.secret.authority.bundle
    world.machine = world.now
    replica.look()
    replica.look()

    assert stayed == "published"
    assert world.configuration.bundles() != [bundle]
    assert replica.serving.certificate == new.certificate
    told = [record.getMessage() for record in caplog.records if "machine's clock" in record.getMessage()]
    assert len(told) == 2
    assert told[0].startswith("this machine's clock and the API server's are ")
    assert told[1] == "this machine's clock and the API server's agree again"


def test_an_api_server_whose_clock_is_ahead_replaces_nothing() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.now += AUTHORITY_LIFETIME * 2

    with pytest.raises(Expired):
        replica.look()

    assert world.store.writes == 0


def test_looks_are_close_together_while_a_rotation_is_under_way() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    calm = replica.custodian.look_seconds
    world.begin()

    replica.look()

    assert calm == LOOK_SECONDS
    assert replica.custodian.look_seconds == 15


def test_a_configuration_that_others_write_meanwhile_is_looked_at_again() -> None:
    world = World()
    replica = world.replica()

    def edit() -> None:
        assert world.configuration.webhooks is not None
        world.configuration.webhooks[0]["timeoutSeconds"] = 3

    world.configuration.before_patch = edit
    replica.custodian.follow(replica.serving)

    assert not replica.custodian.publish()
    assert world.configuration.bundles() == [b""]


def test_a_ca_that_a_rotation_does_not_know_becomes_the_successor_of_the_one_that_is_called() -> None:
    world = World()
    replica = world.replica()
    world.reach("stable", replica)
    theirs = create_authority("theirs", world.now)
    world.store.put(Custody(authority=theirs).data)

    replica.look()
    joined = world.replica("webhook-2")
    joined.look()

    # What starts now is called by API servers that don't know the other CA yet.
    assert joined.serving.certificate == replica.serving.certificate == world.custody.authority.certificate
    assert joined.custodian.faults() == []
    assert world.secret.phase == "published"
    assert world.secret.successor is not None
    assert world.secret.successor.certificate == theirs.certificate


def test_a_replica_that_starts_with_a_ca_that_is_new_waits_while_another_is_called() -> None:
    world = World()
    running = world.replica()
    running.look()
    theirs = create_authority("custom-scheduler", world.now)
    world.store.put(Custody(authority=theirs).data)
    joined = world.replica("webhook-2")

    joined.look()
    joined.look()
    at_first = joined.custodian.faults()
    world.pass_(SETTLE - timedelta(seconds=1))
    early = joined.custodian.faults()
    world.pass_(timedelta(seconds=1))

    assert at_first == early
    (fault,) = early
    assert fault.startswith("the CA is new in caBundle, and replicas with another one are called: ")
    assert joined.custodian.faults() == []


def test_a_replica_that_starts_alone_with_a_new_ca_waits_for_nobody() -> None:
    world = World()
    before = world.replica()
    before.look()
    before.custodian.leave()
    world.store.put(Custody(authority=create_authority("custom-scheduler", world.now)).data)
    alone = world.replica("webhook-2")

    alone.look()

    assert alone.custodian.faults() == []


def test_a_bundle_that_is_wiped_makes_no_running_replica_unready() -> None:
    world = World()
    first, second = world.replica("webhook-1"), world.replica("webhook-2")
    for _ in range(2):
        first.look()
        second.look()
        world.pass_(SETTLE)
    world.begin()
    first.look()
    first.look()
    world.pass_(SETTLE)
    first.look()  # serves the new CA, and second the one before

    world.configuration.wipe()
    first.look()

    assert first.serving.certificate != second.serving.certificate
    assert first.custodian.faults() == []


def test_a_bundle_that_is_wiped_begins_no_rotation() -> None:
    world = World()
    replica = world.replica()
    for _ in range(3):
        replica.look()
        world.pass_(SETTLE)

    world.configuration.wipe()
    replica.look()

    assert world.store.writes == 0


def test_a_ca_that_a_sleeping_replica_serves_stays_trusted_where_nothing_is_registered() -> None:
    world = World()
    world.configuration.webhooks = None
    running, asleep = world.replica("webhook-1"), world.replica("webhook-2")
    asleep.look()
    running.look()
    world.pass_(SETTLE)
    other = create_authority("custom-scheduler", world.now)
    world.store.put(Custody(authority=other).data)

    for _ in range(5):
        running.look()
        world.pass_(SETTLE)

    assert set(world.secret.authority.trusted) >= {asleep.serving.certificate, other.certificate}


def test_a_lease_tells_before_the_secret_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    replica = world.replica()
    read, told = world.store.read, []

    def watched() -> MemorySecret | None:
        told.append(set(world.leases.told))
        return read()

    monkeypatch.setattr(world.store, "read", watched)
    replica.look()

    assert told == [{"webhook-1"}]


def test_a_replica_that_nobody_calls_yet_takes_what_signs_by_now() -> None:
    world = World()
    running = world.replica("webhook-1")
    running.look()
    theirs = create_authority("theirs", world.now)
    world.store.put(Custody(authority=theirs).data)
    joined = world.replica("webhook-2")
    running.look()  # makes theirs the successor, and puts it into caBundle

    joined.look()

    assert joined.serving.certificate == running.serving.certificate
    assert joined.custodian.faults() == []


def test_a_replica_that_nobody_calls_yet_makes_no_other_ca_wait_for_its_own() -> None:
    world = World()
    before = create_authority("custom-scheduler", world.now)
    now = world.custody.authority
    world.store.put(Custody(authority=before).data)
    joined = world.replica()
    world.configuration.put(before.bundle)
    world.store.put(Custody(authority=now).data)

    joined.look()

    assert joined.serving.certificate == now.certificate


def test_a_replica_is_ready_with_the_ca_of_the_others_also_while_the_bundle_is_wiped() -> None:
    world = World()
    world.replica("webhook-1").look()
    world.configuration.wipe()
    joined = world.replica("webhook-2")

    joined.look()

    assert joined.custodian.faults() == []


def test_where_nothing_is_registered_a_ca_that_somebody_put_there_signs_at_once() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.configuration.webhooks = None
    replica.look()
    world.pass_(SETTLE)
    theirs = create_authority("theirs", world.now)
    world.store.put(Custody(authority=theirs).data)

    replica.look()

    assert replica.serving.certificate == theirs.certificate
    assert world.secret.authority.certificate == theirs.certificate


def test_where_nothing_is_registered_since_a_moment_a_ca_that_somebody_put_there_does_not_sign_yet() -> None:
    world = World()
    world.replica().look()
    world.configuration.webhooks = None
    joined = world.replica("webhook-2")
    joined.look()
    theirs = create_authority("theirs", world.now)
    world.store.put(Custody(authority=theirs).data)

    joined.look()
    at_first = joined.serving.certificate
    world.pass_(SETTLE)
    joined.look()

    # There may be API servers that still call by the configuration that is gone.
    assert at_first == world.custody.authority.certificate
    assert joined.serving.certificate == theirs.certificate


def test_where_a_configuration_has_just_come_back_a_ca_that_somebody_put_there_does_not_sign_yet() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    registered, world.configuration.webhooks = world.configuration.webhooks, None
    replica.look()
    world.pass_(2 * SETTLE)
    replica.look()
    world.configuration.webhooks = registered
    world.configuration.wipe()
    world.store.put(Custody(authority=create_authority("theirs", world.now)).data)

    replica.look()

    assert replica.serving.certificate == world.custody.authority.certificate


def test_a_ca_that_the_bundle_has_lost_long_ago_is_not_waited_with() -> None:
    world = World()
    replica = world.replica()
    replica.look()
    world.pass_(LEAF_LIFETIME + SETTLE)
    new = world.switch(replica.serving)
    world.configuration.put(replace(new, trusted=(new.certificate,)).bundle)

    replica.look()

    assert replica.serving.certificate == new.certificate


def test_a_ca_that_has_expired_is_not_waited_with_by_a_machine_whose_clock_is_wrong() -> None:
    world = World()
    replica = world.replica()
    world.pass_(AUTHORITY_LIFETIME - SETTLE)
    replica.look()
    old, new = replica.serving, world.switch(replica.serving)
    world.configuration.put(new.bundle)
    world.machine += timedelta(days=1)
    replica.look()
    waited = replica.serving.certificate
    world.pass_(SETTLE)
    world.boot -= 1  # not settled yet

    replica.look()

    assert waited == old.certificate
    assert replica.serving.certificate == new.certificate
