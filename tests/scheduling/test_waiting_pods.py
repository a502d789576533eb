from __future__ import annotations

import pytest

from webhook.scheduling.plugin import Handle
from webhook.scheduling.status import SUCCESS, Code, Status
from webhook.scheduling.testing import make_cache, make_handle, make_pod
from webhook.scheduling.waiting_pods import WaitingPod, WaitingPods

POD = make_pod("a")
UID = POD.metadata.uid


class Waiting(WaitingPod):
    """A pod that waits since second 100, with what was decided on it."""

    def __init__(self, **waits: float) -> None:
        self.verdicts: list[Status] = []
        super().__init__(POD, "node", waits, now=100.0, decided=self.verdicts.append)


def test_a_pod_goes_on_once_all_that_wait_have_allowed_it() -> None:
    waiting = Waiting(One=10, Other=20)

    waiting.allow("One")
    assert (waiting.pending_plugins, waiting.verdicts) == (("Other",), [])
    waiting.allow("Other")
    assert waiting.verdicts == [SUCCESS]


def test_one_rejection_is_enough() -> None:
    waiting = Waiting(One=10, Other=20)

    assert waiting.reject("Third", "the group is incomplete")
    assert waiting.verdicts == [Status(Code.UNSCHEDULABLE, ("the group is incomplete",), "Third")]


def test_it_is_decided_once() -> None:
    waiting = Waiting(One=10)
    waiting.allow("One")

    assert not waiting.reject("One", "too late")
    waiting.allow("One")
    waiting.expire(1000.0)
    assert waiting.verdicts == [SUCCESS]
    assert waiting.expires_at is None


def test_a_plugin_that_does_not_wait_can_not_let_it_go() -> None:
    waiting = Waiting(One=10)
    waiting.allow("Another")

    assert waiting.verdicts == []


def test_the_first_plugin_whose_time_is_over_rejects_it_in_kube_schedulers_words() -> None:
    waiting = Waiting(Slow=90, Quick=10)

    assert waiting.expires_at == 110.0
    waiting.expire(109.9)
    assert waiting.verdicts == []
    waiting.expire(110.0)
    message = "rejected due to timeout after waiting 10s at plugin Quick"
    assert waiting.verdicts == [Status(Code.UNSCHEDULABLE, (message,), "Quick")]


def test_the_time_of_a_plugin_that_has_allowed_it_runs_no_more() -> None:
    waiting = Waiting(Slow=90, Quick=10)
    waiting.allow("Quick")
    waiting.expire(110.0)

    assert waiting.verdicts == []
    assert waiting.expires_at == 190.0


def test_waiting_pods_are_found_by_uid_and_all_together() -> None:
    pods, waiting = WaitingPods(), Waiting(One=10)
    assert (pods.get(UID), list(pods), pods.next_expiry()) == (None, [], None)

    pods.add(waiting)
    assert (pods.get(UID), list(pods), pods.next_expiry()) == (waiting, [waiting], 110.0)
    pods.expire(110.0)
    assert len(waiting.verdicts) == 1
    pods.remove(UID)
    pods.remove(UID)
    assert list(pods) == []


@pytest.fixture
def handle() -> Handle:
    return make_handle(make_cache())


def test_a_plugin_finds_them_through_its_handle(handle: Handle) -> None:
    waiting = Waiting(One=10)
    handle.cache.waiting_pods.add(waiting)

    assert handle.get_waiting_pod(UID) is waiting
    assert list(handle.iterate_waiting_pods()) == [waiting]
    assert handle.get_waiting_pod("another") is None
