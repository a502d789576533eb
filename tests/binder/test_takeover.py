from __future__ import annotations

import threading

import pytest

from webhook.binder.binding import BIND_SECONDS
from webhook.binder.takeover import Takeover


class Listing:
    def __init__(self) -> None:
        self.synced = threading.Event()
        self.synced.set()
        self.relists = 0

    def relist(self) -> None:
        self.relists += 1
        self.synced.clear()


class Harness:
    def __init__(self) -> None:
        self.now = 0.0
        self.nodes, self.pods = Listing(), Listing()
        self.takeover = Takeover([self.nodes, self.pods], lambda: self.now)

    def list_again(self, *listings: Listing) -> None:
        for listing in listings:
            listing.synced.set()
            self.takeover.listed(listing)


@pytest.fixture
def harness() -> Harness:
    return Harness()


def test_a_replica_that_does_not_lead_lists_nothing_and_decides_nothing(harness: Harness) -> None:
    assert harness.takeover.step() is None
    assert not harness.takeover.is_over
    assert harness.pods.relists == 0


def test_a_lease_that_was_given_back_is_taken_over_at_once(harness: Harness) -> None:
    harness.takeover.begin(old_leader_may_act=False)
    harness.takeover.step()

    assert (harness.nodes.relists, harness.pods.relists) == (1, 1)


def test_an_old_leader_that_may_still_act_is_given_the_time_of_a_request(harness: Harness) -> None:
    harness.takeover.begin(old_leader_may_act=True)

    assert harness.takeover.step() == BIND_SECONDS
    assert harness.pods.relists == 0
    harness.now = BIND_SECONDS
    assert harness.takeover.step() is None
    assert harness.pods.relists == 1


def test_it_is_over_when_all_has_been_listed_anew(harness: Harness) -> None:
    harness.takeover.begin(old_leader_may_act=False)
    harness.takeover.step()
    harness.list_again(harness.pods)
    assert not harness.takeover.is_over
    harness.list_again(harness.nodes)

    assert harness.takeover.is_over


def test_a_list_from_before_does_not_count(harness: Harness) -> None:
    harness.takeover.begin(old_leader_may_act=False)
    harness.takeover.listed(harness.pods)
    harness.takeover.step()
    harness.takeover.listed(harness.pods)
    harness.list_again(harness.nodes)

    assert not harness.takeover.is_over


def test_the_same_list_twice_does_not_stand_for_both(harness: Harness) -> None:
    harness.takeover.begin(old_leader_may_act=False)
    harness.takeover.step()
    harness.list_again(harness.pods, harness.pods)

    assert not harness.takeover.is_over


@pytest.mark.parametrize("listed", [False, True])
def test_losing_the_lease_ends_it_at_any_point(harness: Harness, listed: bool) -> None:
    harness.takeover.begin(old_leader_may_act=False)
    harness.takeover.step()
    if listed:
        harness.list_again(harness.nodes, harness.pods)
    harness.takeover.end()
    harness.list_again(harness.nodes, harness.pods)

    assert not harness.takeover.is_over
    assert harness.takeover.step() is None


def test_each_takeover_lists_anew(harness: Harness) -> None:
    for _ in range(2):
        harness.takeover.begin(old_leader_may_act=False)
        harness.takeover.step()
        harness.list_again(harness.nodes, harness.pods)
        assert harness.takeover.is_over
        harness.takeover.end()

    assert harness.pods.relists == 2
