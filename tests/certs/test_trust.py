from __future__ import annotations

from datetime import UTC, datetime

from certs.authority import create_authority
from certs.leaf import LEAF_LIFETIME
from certs.trust import Trust

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
A, B = (create_authority("custom-scheduler", NOW) for _ in range(2))
BOTH = A.bundle + B.bundle


class Boot:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def trust() -> tuple[Trust, Boot]:
    boot = Boot()
    seen = Trust(settle_seconds=60, clock=boot)
    seen.named(A.fingerprint, B.fingerprint)
    return seen, boot


def test_nothing_is_trusted_before_the_first_look() -> None:
    seen, _ = trust()

    assert seen.carried == ()
    assert not seen.is_settled(A.fingerprint)


def test_a_ca_settles_a_minute_after_it_was_first_seen() -> None:
    seen, boot = trust()
    seen.saw([A.bundle])
    boot.seconds = 59.9
    seen.saw([A.bundle])
    early = seen.is_settled(A.fingerprint)
    boot.seconds = 60
    unread = seen.is_settled(A.fingerprint)
    seen.saw([A.bundle])

    assert not unread  # who knows what was there in that tenth of a second
    assert seen.carried == (A.certificate,)
    assert not early
    assert seen.is_settled(A.fingerprint)


def test_looking_again_does_not_begin_the_minute_anew() -> None:
    seen, boot = trust()
    seen.saw([A.bundle])
    boot.seconds = 30
    seen.saw([BOTH])
    boot.seconds = 60
    seen.saw([BOTH])

    assert seen.is_settled(A.fingerprint)
    assert not seen.is_settled(B.fingerprint)


def test_a_ca_that_was_gone_meanwhile_begins_anew() -> None:
    seen, boot = trust()
    seen.saw([BOTH])
    boot.seconds = 50
    seen.saw([A.bundle])
    seen.saw([BOTH])
    boot.seconds = 100

    assert not seen.is_settled(B.fingerprint)


def test_a_ca_counts_only_where_every_entry_carries_it() -> None:
    seen, _ = trust()

    seen.saw([BOTH, A.bundle])

    assert seen.carried == (A.certificate,)


def test_garbage_carries_nothing() -> None:
    seen, _ = trust()

    seen.saw([A.bundle, b"garbage"])

    assert seen.carried == ()


def test_without_an_entry_all_settles_once_every_api_server_knows_that() -> None:
    seen, boot = trust()
    seen.saw([])
    boot.seconds = 59
    seen.saw([])
    early = seen.is_settled(A.fingerprint)
    boot.seconds = 60
    seen.saw([])

    assert not early
    assert seen.is_settled(A.fingerprint)


def test_entries_that_come_back_without_a_ca_begin_anew() -> None:
    seen, boot = trust()
    seen.saw([])
    boot.seconds = 60
    seen.saw([b""])

    assert not seen.is_settled(A.fingerprint)


def test_a_ca_that_is_gone_counts_as_carried_until_each_api_server_knows() -> None:
    seen, boot = trust()
    seen.saw([BOTH])
    boot.seconds = 10
    seen.saw([A.bundle])
    at_once = set(seen.carried), seen.is_carried(B.fingerprint)
    boot.seconds = 69.9
    seen.saw([A.bundle])
    late = set(seen.carried)
    boot.seconds = 70

    assert at_once == ({A.certificate, B.certificate}, False)
    assert late == {A.certificate, B.certificate}
    assert seen.carried == (A.certificate,)


def test_a_ca_is_known_for_as_long_as_a_leaf_of_it_may_last() -> None:
    seen, boot = trust()
    seen.met([A.certificate])
    seen.saw([B.bundle, b""])
    boot.seconds = LEAF_LIFETIME.total_seconds() - 1
    late = set(seen.known)
    boot.seconds += 1

    assert late == {A.certificate, B.certificate}
    assert seen.known == ()


def test_a_ca_is_established_once_it_was_there_for_a_minute() -> None:
    seen, boot = trust()
    seen.saw([A.bundle])
    boot.seconds = 59.9
    early = seen.is_established(A.fingerprint)
    boot.seconds = 60

    assert not early
    assert seen.is_established(A.fingerprint)


def test_an_established_ca_stays_so_when_its_bundle_is_wiped() -> None:
    seen, boot = trust()
    seen.saw([A.bundle])
    boot.seconds = 60
    seen.saw([A.bundle])
    seen.saw([b""])

    assert seen.is_established(A.fingerprint)
    assert not seen.is_carried(A.fingerprint)


def test_after_longer_than_a_leaf_lasts_everything_is_looked_at_anew() -> None:
    seen, boot = trust()
    for _ in range(2):
        seen.saw([A.bundle])
        boot.seconds += LEAF_LIFETIME.total_seconds() - 1
    established = seen.is_established(A.fingerprint)
    boot.seconds += 2

    seen.saw([B.bundle])

    assert established
    assert seen.carried == (B.certificate,)
    assert not seen.is_established(A.fingerprint)


def test_a_ca_settles_only_while_the_secret_names_it() -> None:
    seen, boot = trust()
    seen.saw([BOTH])
    boot.seconds = 30
    seen.named(A.fingerprint)
    boot.seconds = 60
    seen.saw([BOTH])
    unnamed = seen.is_settled(B.fingerprint)
    # It was dropped meanwhile, and an older state of the Secret brought it back.
    seen.named(A.fingerprint, B.fingerprint)
    boot.seconds = 119.9
    seen.saw([BOTH])
    early = seen.is_settled(B.fingerprint)
    boot.seconds = 120
    seen.saw([BOTH])

    assert not unnamed
    assert not early
    assert seen.is_settled(A.fingerprint)
    assert seen.is_settled(B.fingerprint)


def test_a_ca_that_signed_settles_anew_where_it_comes_back_as_the_one_that_follows() -> None:
    seen, boot = trust()
    seen.saw([BOTH])
    boot.seconds = 60
    seen.saw([BOTH])
    # In between B signed alone, and A was not in caBundle.
    seen.named(B.fingerprint, A.fingerprint)

    assert seen.is_settled(B.fingerprint)
    assert not seen.is_settled(A.fingerprint)
