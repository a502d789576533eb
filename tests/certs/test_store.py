from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from certs.authority import AUTHORITY_LIFETIME, Authority, create_authority
from certs.custody import Custody
from certs.errors import Expired, NoAuthority, NotYetValid, RotationUnderWay, SecretConflict
from certs.rotation import begin
from certs.store import SecretStore, Step, ensure_custody, start_rotation
from tests.certs.memory_store import MemorySecret, MemoryStore

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NAME = "custom-scheduler"


def stay(_: Custody) -> None:
    """A step that never takes anything further."""


def ensure(
    store: SecretStore, *, at: datetime = NOW, held: Authority | None = None, step: Step = stay
) -> Authority:
    custody = Custody(authority=held) if held else None
    return ensure_custody(store, NAME, clock=lambda: at, held=custody, step=step).authority


def content(authority: Authority) -> dict[str, bytes]:
    return {"ca.crt": authority.bundle, "ca.key": authority.key_pem}


def test_an_authority_is_put_where_there_was_no_secret() -> None:
    store = MemoryStore()

    authority = ensure(store)

    assert store.secret is not None
    assert store.secret.data == content(authority)


def test_the_authority_in_the_secret_is_taken_and_nothing_written() -> None:
    there = create_authority(NAME, NOW)
    store = MemoryStore(content(there))

    taken = ensure(store)

    assert taken.certificate == there.certificate
    assert store.writes == 0


def test_keys_that_a_later_version_put_beside_it_are_left_alone() -> None:
    there = create_authority(NAME, NOW)
    store = MemoryStore(content(there) | {"phase": b"published", "next.key": b"..."})

    ensure(store)

    assert store.writes == 0


def test_both_authorities_of_a_rotation_are_trusted_and_the_first_signs() -> None:
    old, new = create_authority(NAME, NOW), create_authority(NAME, NOW)
    store = MemoryStore({"ca.crt": old.bundle + new.bundle, "ca.key": old.key_pem})

    taken = ensure(store)

    assert taken.certificate == old.certificate
    assert taken.bundle == old.bundle + new.bundle


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"ca.crt": b"", "ca.key": b""},
        {"ca.crt": b"garbage", "ca.key": b"garbage"},
        {"ca.crt": create_authority(NAME, NOW).bundle},
        {"ca.key": create_authority(NAME, NOW).key_pem},
        {"ca.crt": create_authority(NAME, NOW).bundle, "ca.key": create_authority(NAME, NOW).key_pem},
    ],
    ids=["empty", "empty values", "garbage", "no key", "no certificate", "another's key"],
)
def test_a_secret_without_a_usable_authority_gets_one(data: Mapping[str, bytes]) -> None:
    store = MemoryStore(data)

    authority = ensure(store)

    assert store.secret is not None
    assert store.secret.data == content(authority)
    assert store.writes == 1


def test_an_expired_authority_is_replaced() -> None:
    expired = create_authority(NAME, NOW - AUTHORITY_LIFETIME)
    store = MemoryStore(content(expired))

    authority = ensure(store)

    assert authority.certificate != expired.certificate
    assert store.writes == 1


def test_an_expired_authority_is_left_alone_while_the_clock_may_be_wrong() -> None:
    store = MemoryStore(content(create_authority(NAME, NOW - AUTHORITY_LIFETIME)))

    with pytest.raises(Expired):
        ensure_custody(store, NAME, clock=lambda: NOW, is_clock_sure=False)

    assert store.writes == 0


def test_an_authority_in_its_last_second_is_kept() -> None:
    there = create_authority(NAME, NOW)
    store = MemoryStore(content(there))

    taken = ensure(store, at=NOW + AUTHORITY_LIFETIME - timedelta(seconds=1))

    assert taken.certificate == there.certificate
    assert store.writes == 0


def test_an_authority_from_the_future_is_never_replaced() -> None:
    store = MemoryStore(content(create_authority(NAME, NOW)))

    with pytest.raises(NotYetValid):
        ensure(store, at=datetime(1970, 1, 1, tzinfo=UTC))

    assert store.writes == 0


def test_replacing_an_authority_is_logged_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ensure(MemoryStore({"ca.crt": b"garbage"}))

    (record,) = caplog.records
    assert record.getMessage() == (
        "CA in the Secret replaced: ca.crt of the CA's Secret holds no PEM certificate that can be read: "
        "put the certificate there, followed by any intermediates"
    )


def test_no_key_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ensure(MemoryStore())
        ensure(MemoryStore({}))

    assert len(caplog.records) == 2
    assert not any("PRIVATE KEY" in str(vars(record)) for record in caplog.records)


@pytest.mark.parametrize("data", [None, {}, {"ca.crt": b"garbage"}], ids=["deleted", "emptied", "garbage"])
def test_the_authority_in_use_goes_back_into_a_secret_that_lost_it(data: Mapping[str, bytes] | None) -> None:
    held = create_authority(NAME, NOW)
    store = MemoryStore(data)

    authority = ensure(store, held=held)

    assert authority is held
    assert store.secret is not None
    assert store.secret.data == content(held)


def test_an_authority_in_use_that_has_expired_does_not_go_back() -> None:
    held = create_authority(NAME, NOW - AUTHORITY_LIFETIME)

    authority = ensure(MemoryStore(), held=held)

    assert authority.certificate != held.certificate


def test_the_secret_beats_the_authority_in_use() -> None:
    there, held = create_authority(NAME, NOW), create_authority(NAME, NOW)
    store = MemoryStore(content(there))

    taken = ensure(store, held=held)

    assert taken.certificate == there.certificate
    assert store.writes == 0


@pytest.mark.parametrize(
    "data",
    [None, {}, content(create_authority(NAME, NOW - AUTHORITY_LIFETIME))],
    ids=["no Secret", "an empty Secret", "an expired CA"],
)
def test_ten_that_start_at_once_end_with_one_authority(data: Mapping[str, bytes] | None) -> None:
    store = MemoryStore(data, meet=threading.Barrier(10))

    with ThreadPoolExecutor(10) as pool:
        authorities = list(pool.map(lambda _: ensure(store), range(10)))

    assert {authority.fingerprint for authority in authorities} == {authorities[0].fingerprint}
    assert store.writes == 1
    assert store.secret is not None
    assert store.secret.data == content(authorities[0])


class ContestedStore(MemoryStore):
    """Somebody else writes nonsense between each read and write."""

    def read(self) -> MemorySecret | None:
        secret = super().read()
        self.put({"ca.crt": b"garbage"})
        return secret


def test_a_secret_that_others_keep_spoiling_is_given_up() -> None:
    with pytest.raises(SecretConflict, match="written by others 5 times in a row"):
        ensure(ContestedStore())


def test_what_the_step_returns_takes_the_place_of_what_was_there() -> None:
    there, other = Custody(authority=create_authority(NAME, NOW)), create_authority(NAME, NOW)
    store = MemoryStore(there.data)

    taken = ensure(store, step=lambda _: Custody(authority=other))

    assert taken is other
    assert store.secret is not None
    assert store.secret.data == content(other)


def test_a_step_keeps_what_others_put_into_the_secret() -> None:
    there, other = create_authority(NAME, NOW), create_authority(NAME, NOW)
    store = MemoryStore(content(there) | {"theirs": b"kept", "next.key": b"gone"})

    ensure(store, step=lambda _: Custody(authority=other))

    assert store.secret is not None
    assert store.secret.data == content(other) | {"theirs": b"kept"}


def test_of_ten_that_step_at_once_one_wins_and_the_others_follow() -> None:
    store = MemoryStore(content(create_authority(NAME, NOW)), meet=threading.Barrier(10))

    def step(custody: Custody) -> Custody | None:
        return None if len(custody.authority.trusted) > 1 else begin(custody, NAME, NOW)

    with ThreadPoolExecutor(10) as pool:
        bundles = set(pool.map(lambda _: ensure(store, step=step).bundle, range(10)))

    assert len(bundles) == 1
    assert store.writes == 1


def test_an_expired_authority_gives_way_to_what_the_step_makes_of_it() -> None:
    expired = Custody(authority=create_authority(NAME, NOW - AUTHORITY_LIFETIME))
    successor = create_authority(NAME, NOW)
    store = MemoryStore(expired.data)

    taken = ensure(store, step=lambda _: Custody(authority=successor))

    assert taken is successor


def test_a_rotation_under_way_goes_back_whole_into_a_secret_that_was_deleted() -> None:
    held = begin(Custody(authority=create_authority(NAME, NOW)), NAME, NOW)
    store = MemoryStore()

    ensure_custody(store, NAME, clock=lambda: NOW, held=held)

    assert store.secret is not None
    assert store.secret.data == held.data


def start(store: SecretStore) -> Custody:
    return start_rotation(store, NAME, clock=lambda: NOW)


def test_a_rotation_is_started_before_its_time() -> None:
    there = create_authority(NAME, NOW)
    store = MemoryStore(content(there) | {"theirs": b"kept"})

    custody = start(store)

    assert custody.phase == "published"
    assert custody.authority.certificate == there.certificate
    assert store.secret is not None
    assert store.secret.data == custody.data | {"theirs": b"kept"}


def test_a_rotation_under_way_is_not_started_again() -> None:
    store = MemoryStore(content(create_authority(NAME, NOW)))
    start(store)

    with pytest.raises(RotationUnderWay, match="in the phase published"):
        start(store)

    assert store.writes == 1


def test_without_a_secret_there_is_nothing_to_rotate() -> None:
    with pytest.raises(NoAuthority):
        start(MemoryStore())


def test_a_rotation_is_started_on_what_somebody_wrote_meanwhile() -> None:
    other = create_authority(NAME, NOW)

    class Contested(MemoryStore):
        def read(self) -> MemorySecret | None:
            secret = super().read()
            if self.writes == 0 and self.secret is not None and self.secret.data["ca.crt"] != other.bundle:
                self.put(content(other))
            return secret

    custody = start(Contested(content(create_authority(NAME, NOW))))

    assert custody.authority.certificate == other.certificate
