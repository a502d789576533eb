from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from certs.authority import AUTHORITY_LIFETIME, create_authority
from certs.custody import Custody, Phase, parse_custody
from certs.pair import fingerprint_of
from certs.rotation import RENEWAL, adopt, begin, is_due, next_step, reinstate

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NAME = "custom-scheduler"


def stable(at: datetime = NOW) -> Custody:
    return Custody(authority=create_authority(NAME, at))


def step(
    custody: Custody, *, at: datetime = NOW, settled: bool = False, served: Collection[str] | None = None
) -> Custody | None:
    return next_step(
        custody,
        name=NAME,
        now=at,
        is_settled=lambda _: settled,
        served=None if served is None else lambda: served,
    )


def switched(before: Custody) -> Custody:
    after = step(begin(before, NAME, NOW), settled=True)
    assert after is not None
    return after


def test_a_ca_is_due_sixty_days_before_its_end() -> None:
    authority = create_authority(NAME, NOW)
    due = NOW + AUTHORITY_LIFETIME - RENEWAL

    assert not is_due(authority, due - timedelta(seconds=1))
    assert is_due(authority, due)


def test_a_young_ca_stays() -> None:
    assert step(stable()) is None


def test_a_ca_that_is_due_gets_a_successor_beside_it_and_goes_on_signing() -> None:
    custody = stable()
    at = NOW + AUTHORITY_LIFETIME - RENEWAL

    after = step(custody, at=at)

    assert after is not None
    assert after.phase == "published"
    assert after.successor is not None
    assert after.authority.certificate == custody.authority.certificate
    assert after.authority.trusted == (custody.authority.certificate, after.successor.certificate)
    assert after.successor.certificate.not_valid_after_utc == at + AUTHORITY_LIFETIME


def test_a_successor_waits_until_it_has_settled() -> None:
    assert step(begin(stable(), NAME, NOW), settled=False) is None


def test_a_successor_that_has_settled_signs_and_the_ca_before_is_trusted_on() -> None:
    custody = stable()
    under_way = begin(custody, NAME, NOW)

    after = step(under_way, settled=True)

    assert under_way.successor is not None
    assert after is not None
    assert after.phase == "switched"
    assert after.authority.key is under_way.successor.key
    assert after.authority.trusted == (under_way.successor.certificate, custody.authority.certificate)


def test_a_ca_that_somebody_serves_stays_trusted() -> None:
    custody = stable()

    assert step(switched(custody), served={custody.authority.fingerprint}) is None


def test_a_ca_that_nobody_serves_goes_and_the_rotation_ends() -> None:
    after_switch = switched(stable())

    after = step(after_switch, served={after_switch.authority.fingerprint})

    assert after is not None
    assert after.phase == "stable"
    assert after.authority.trusted == (after_switch.authority.certificate,)


def test_while_nobody_can_say_what_is_served_nothing_goes() -> None:
    assert step(switched(stable()), served=None) is None


def test_what_is_served_is_asked_only_when_the_answer_counts() -> None:
    def ask() -> Collection[str]:
        raise AssertionError("asked")

    for custody in (stable(), begin(stable(), NAME, NOW)):
        next_step(custody, name=NAME, now=NOW, is_settled=lambda _: True, served=ask)


def test_an_expired_ca_gives_way_to_its_successor_without_a_wait() -> None:
    under_way = begin(stable(), NAME, NOW + timedelta(days=300))

    after = step(under_way, at=NOW + AUTHORITY_LIFETIME, settled=False)

    assert under_way.successor is not None
    assert after is not None
    assert after.authority.trusted == (under_way.successor.certificate,)


def test_an_expired_ca_without_a_successor_gets_one() -> None:
    after = step(stable(), at=NOW + AUTHORITY_LIFETIME)

    assert after is not None
    assert after.phase == "published"


def test_a_successor_from_the_future_takes_nothing_over() -> None:
    ahead = begin(stable(), NAME, NOW + timedelta(days=2))

    assert step(ahead, at=NOW, settled=True) is None


@pytest.mark.parametrize(
    "key", [b"", b"garbage", create_authority(NAME, NOW).key_pem], ids=["no", "garbage", "other"]
)
def test_a_successor_whose_key_is_lost_is_replaced_by_another(key: bytes) -> None:
    under_way = begin(stable(), NAME, NOW)
    spoilt = parse_custody(under_way.data | {"next.key": key}, source="the CA's Secret")

    after = step(spoilt, settled=True)

    assert spoilt.successor is None
    assert after is not None
    assert after.phase == "published"
    assert after.authority.certificate == under_way.authority.certificate
    assert after.successor is not None
    assert after.successor.certificate not in under_way.authority.trusted


def test_a_successor_that_expired_before_it_signed_is_replaced_by_another() -> None:
    authority = create_authority(NAME, NOW)
    lasting = stable(NOW + timedelta(days=200))
    under_way = Custody(
        authority=replace(lasting.authority, trusted=(lasting.authority.certificate, authority.certificate)),
        phase="published",
        successor=authority,
    )

    after = step(under_way, at=NOW + AUTHORITY_LIFETIME, settled=True)

    assert after is not None
    assert after.phase == "published"
    assert authority.certificate not in after.authority.trusted


def test_a_ca_put_beside_by_hand_stays_until_it_has_expired() -> None:
    ours, theirs = create_authority(NAME, NOW), create_authority("theirs", NOW - timedelta(days=300))
    custody = Custody(authority=replace(ours, trusted=(ours.certificate, theirs.certificate)))

    after = step(custody, at=NOW + timedelta(days=65))

    assert step(custody) is None
    assert after is not None
    assert after.authority.trusted == (ours.certificate,)
    assert after.phase == "stable"


@pytest.mark.parametrize("phase", [b"", b"published", b"switched", b"nonsense"])
def test_a_phase_that_the_certificates_contradict_ends_well(phase: bytes) -> None:
    custody = parse_custody(stable().data | {"phase": phase}, source="the CA's Secret")

    for _ in range(5):
        custody = step(custody, settled=True, served=()) or custody

    assert custody.phase == "stable"
    assert len(custody.authority.trusted) == 1


def test_each_phase_survives_the_secret() -> None:
    custody = stable()
    for each in (custody, begin(custody, NAME, NOW), switched(custody)):
        read = parse_custody(each.data, source="the CA's Secret")

        assert read.data == each.data
        assert read.phase == each.phase


def test_a_reader_that_knows_two_keys_signs_and_trusts_right_in_each_phase() -> None:
    custody = stable()
    for each in (custody, begin(custody, NAME, NOW), switched(custody)):
        known = {key: each.data[key] for key in ("ca.crt", "ca.key")}

        read = parse_custody(known, source="the CA's Secret")

        assert read.authority.certificate == each.authority.certificate
        assert read.authority.bundle == each.authority.bundle


def test_a_ca_that_is_due_gets_a_successor_also_while_a_lost_replica_holds_the_one_before() -> None:
    after_switch = switched(stable())
    before = after_switch.authority.trusted[1]
    at = NOW + AUTHORITY_LIFETIME - RENEWAL
    held = replace(after_switch.authority, trusted=(after_switch.authority.certificate, before))

    after = step(replace(after_switch, authority=held), at=at, served=fingerprints(before))

    assert after is not None
    assert after.phase == "published"
    assert after.successor is not None
    assert after.authority.trusted[:2] == (after_switch.authority.certificate, before)


def fingerprints(*certificates: x509.Certificate) -> set[str]:
    return {fingerprint_of(each) for each in certificates}


def test_a_ca_that_somebody_put_into_the_secret_becomes_the_successor_of_the_one_that_is_served() -> None:
    ours, theirs, beside = (create_authority(NAME, NOW) for _ in range(3))
    found = Custody(
        authority=replace(theirs, trusted=(theirs.certificate, beside.certificate)), phase="switched"
    )

    after = reinstate(found, ours, NOW)

    assert after is not None
    assert (after.phase, after.authority.key, after.successor) == ("published", ours.key, found.authority)
    assert after.authority.trusted == (ours.certificate, theirs.certificate, beside.certificate)
    assert parse_custody(after.data, source="the CA's Secret").data == after.data


@pytest.mark.parametrize("expired", ["served", "found"])
def test_of_two_cas_the_one_that_lasts_signs(expired: str) -> None:
    ends_first, lasts = create_authority(NAME, NOW), create_authority(NAME, NOW + timedelta(days=1))
    serving, found = (ends_first, lasts) if expired == "served" else (lasts, ends_first)

    assert reinstate(Custody(authority=found), serving, NOW + AUTHORITY_LIFETIME) is None


@pytest.mark.parametrize(
    ("phase", "after"), [("stable", "switched"), ("published", "published"), ("switched", "switched")]
)
def test_a_known_ca_that_a_replica_serves_is_trusted_again(phase: Phase, after: Phase) -> None:
    custody = replace(stable(), phase=phase)
    stray, unserved = create_authority(NAME, NOW), create_authority(NAME, NOW)

    adopted = adopt(
        custody,
        now=NOW,
        known=[custody.authority.certificate, stray.certificate, unserved.certificate],
        served=lambda: {stray.fingerprint, custody.authority.fingerprint},
    )

    assert adopted is not None
    assert adopted.phase == after
    assert adopted.authority.trusted == (custody.authority.certificate, stray.certificate)


def test_a_known_ca_that_has_expired_is_not_trusted_again() -> None:
    stray = create_authority(NAME, NOW - AUTHORITY_LIFETIME)

    adopted = adopt(stable(), now=NOW, known=[stray.certificate], served=lambda: {stray.fingerprint})

    assert adopted is None


def test_what_is_served_is_not_asked_where_all_known_cas_are_trusted() -> None:
    custody = begin(stable(), NAME, NOW)

    def ask() -> Collection[str]:
        raise AssertionError("asked")

    assert adopt(custody, now=NOW, known=custody.authority.trusted, served=ask) is None
