from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.authority import AUTHORITY_LIFETIME, Authority, create_authority
from certs.clock import utc_now
from certs.neighbours import KEEP_SECONDS, Neighbours


class Time:
    def __init__(self) -> None:
        self.now = utc_now()
        self.boot = 1000.0

    def wall(self) -> datetime:
        return self.now

    def since_boot(self) -> float:
        return self.boot


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def neighbours(time: Time) -> Neighbours:
    return Neighbours(product="custom-scheduler", clock=time.wall, boot_clock=time.since_boot)


@pytest.fixture(scope="module")
def theirs() -> Authority:
    return create_authority("cert-manager", utc_now())


def saw(neighbours: Neighbours, *authorities: Authority, is_injected: bool = False) -> None:
    neighbours.saw([each.bundle for each in authorities], is_injected=is_injected)


def test_a_ca_of_others_stays_for_an_hour(neighbours: Neighbours, time: Time, theirs: Authority) -> None:
    saw(neighbours, theirs)
    at_first = neighbours.stays(theirs.certificate)
    time.boot += KEEP_SECONDS - 1
    shortly_before = neighbours.stays(theirs.certificate)
    time.boot += 1

    assert (at_first, shortly_before) == (True, True)
    assert not neighbours.stays(theirs.certificate)


def test_one_that_came_later_stays_longer(neighbours: Neighbours, time: Time, theirs: Authority) -> None:
    later = create_authority("cert-manager", utc_now())
    saw(neighbours, theirs)
    time.boot += KEEP_SECONDS
    saw(neighbours, theirs, later)

    assert not neighbours.stays(theirs.certificate)
    assert neighbours.stays(later.certificate)


def test_one_that_comes_back_stays_for_another_hour(
    neighbours: Neighbours, time: Time, theirs: Authority
) -> None:
    saw(neighbours, theirs)
    time.boot += KEEP_SECONDS
    saw(neighbours)
    saw(neighbours, theirs)

    assert neighbours.stays(theirs.certificate)


def test_one_that_an_injector_adds_stays_for_as_long_as_it_is_asked_to(
    neighbours: Neighbours, time: Time, theirs: Authority
) -> None:
    saw(neighbours, theirs, is_injected=True)
    time.boot += 10 * KEEP_SECONDS

    assert neighbours.stays(theirs.certificate)


def test_the_hour_begins_when_the_injector_is_not_asked_any_more(
    neighbours: Neighbours, time: Time, theirs: Authority
) -> None:
    saw(neighbours, theirs, is_injected=True)
    time.boot += 10 * KEEP_SECONDS
    saw(neighbours, theirs)
    at_first = neighbours.stays(theirs.certificate)
    time.boot += KEEP_SECONDS
    saw(neighbours, theirs)

    assert at_first
    assert not neighbours.stays(theirs.certificate)


@pytest.mark.parametrize("is_injected", [True, False])
def test_one_whose_time_is_over_goes(
    neighbours: Neighbours, time: Time, theirs: Authority, is_injected: bool
) -> None:
    saw(neighbours, theirs, is_injected=is_injected)
    time.now += AUTHORITY_LIFETIME + timedelta(days=1)

    assert not neighbours.stays(theirs.certificate)


@pytest.mark.parametrize("is_injected", [True, False])
def test_a_ca_of_ours_that_the_secret_no_longer_holds_goes_at_once(
    neighbours: Neighbours, is_injected: bool
) -> None:
    former = create_authority("custom-scheduler", utc_now())
    saw(neighbours, former, is_injected=is_injected)

    assert not neighbours.stays(former.certificate)


def test_a_ca_that_was_published_as_ours_goes_at_once(neighbours: Neighbours, theirs: Authority) -> None:
    neighbours.published(theirs.bundle)
    saw(neighbours, theirs)

    assert not neighbours.stays(theirs.certificate)


def test_nobody_argues_with_an_injector_about_what_was_published_as_ours(
    neighbours: Neighbours, theirs: Authority
) -> None:
    neighbours.published(theirs.bundle)
    saw(neighbours, theirs, is_injected=True)

    assert neighbours.stays(theirs.certificate)
