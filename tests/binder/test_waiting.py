"""Pods that wait at Permit, in a scheduler that runs."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest
from prometheus_client import REGISTRY

from tests.binder.scheduler import Scheduler, bound_to, pod, scheduling
from tests.kube.fakeapi import PATIENCE_SECONDS
from webhook.binder.queued_pod import Place
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status, wait
from webhook.scheduling.testing import make_node
from webhook.scheduling.waiting_pods import WaitingPod


class Gatekeeper:
    """Has the pods wait that have a label, and keeps account of what is reserved."""

    def __init__(self, seconds: float = 30, name: str = "Gatekeeper", log: list[str] | None = None) -> None:
        self.seconds = seconds
        self.name = name
        self.log = [] if log is None else log
        self.waiting = threading.Semaphore(0)
        self.fails = False

    def reserve(self, pod: Pod, node_name: str) -> Status:
        self.log.append(f"{self.name} reserves {pod.metadata.name}")
        return SUCCESS

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.log.append(f"{self.name} unreserves {pod.metadata.name}")

    def permit(self, pod: Pod, node_name: str) -> Status:
        if "waits" not in pod.labels:
            return SUCCESS
        self.waiting.release()
        if self.fails:
            raise RuntimeError("broken")
        return wait(self.seconds)


def patient(name: str, **options: Any) -> Pod:
    return pod(name, labels={"waits": "yes"}, **options)


def waits(scheduler: Scheduler, gatekeeper: Gatekeeper, name: str) -> WaitingPod:
    """Wait until the pod does, and return it."""
    assert gatekeeper.waiting.acquire(timeout=PATIENCE_SECONDS)
    scheduler.settle()
    found = scheduler.cache.waiting_pods.get(f"uid-of-{name}")
    assert found is not None
    return found


def test_a_pod_that_waits_is_bound_when_it_is_allowed_and_holds_up_nobody() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"), pod("b"))
        waiting = waits(scheduler, gatekeeper, "a")
        scheduler.expect_bindings("b on node-1")
        waiting.allow("Gatekeeper")
        scheduler.expect_event("Scheduled", "a")

        assert scheduler.bindings_sent() == ["b on node-1", "a on node-1"]
        assert list(scheduler.cache.waiting_pods) == []


def test_how_long_pods_have_waited_is_measured() -> None:
    def total(result: str) -> float:
        name = "scheduler_permit_wait_duration_seconds_sum"
        return REGISTRY.get_sample_value(name, {"result": result}) or 0.0

    gatekeeper, allowed, rejected = Gatekeeper(), total("Success"), total("Unschedulable")

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"), patient("b"))
        first, second = (waits(scheduler, gatekeeper, name) for name in ("a", "b"))
        scheduler.pass_time(5)
        first.allow("Gatekeeper")
        scheduler.expect_bindings("a on node-1")
        scheduler.pass_time(2)
        second.reject("Gatekeeper", "no")
        scheduler.expect_condition("b")

    assert (total("Success") - allowed, total("Unschedulable") - rejected) == (5.0, 7.0)


def test_its_room_is_taken_while_it_waits() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), patient("a", cpu="1"))
        waits(scheduler, gatekeeper, "a")
        scheduler.add(pod("b", cpu="1"))

        assert scheduler.expect_condition("b")["message"] == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_rejected_pod_gives_all_back_in_reverse_and_is_told_why() -> None:
    log: list[str] = []
    one, other = Gatekeeper(name="one", log=log), Gatekeeper(name="other", log=log)

    with scheduling(One=one, Other=other) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), patient("a", cpu="1"))
        waiting = waits(scheduler, one, "a")
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_condition("b")
        log.clear()
        assert waiting.reject("One", "the group is incomplete")
        condition = scheduler.expect_condition("a")
        event = scheduler.expect_event("FailedScheduling", "a")
        assert log[:2] == ["other unreserves a", "one unreserves a"]
        scheduler.pass_time(1)
        scheduler.expect_bindings("b on node-1")

    message = "0/1 nodes are available: 1 the group is incomplete."
    assert (condition["reason"], condition["message"]) == ("Unschedulable", message)
    assert event["note"] == message


def test_a_pod_that_nobody_allows_in_time_is_rejected_by_the_clock() -> None:
    gatekeeper = Gatekeeper(seconds=90)

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        waits(scheduler, gatekeeper, "a")
        scheduler.pass_time(89.9)
        assert scheduler.cache.waiting_pods.get("uid-of-a") is not None
        scheduler.pass_time(0.2)
        condition = scheduler.expect_condition("a")

    assert condition["message"] == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin Gatekeeper."
    )


def test_a_whole_group_is_bound_when_its_last_pod_comes() -> None:
    class Gang:
        """Lets three go together."""

        def __init__(self) -> None:
            self.scheduler: Scheduler | None = None

        def permit(self, pod: Pod, node_name: str) -> Status:
            assert self.scheduler is not None
            others = list(self.scheduler.cache.waiting_pods)
            if len(others) < 2:
                return wait(60)
            for other in others:
                other.allow("Gang")
            return SUCCESS

    gang = Gang()
    with scheduling(Gang=gang) as scheduler:
        gang.scheduler = scheduler
        scheduler.add(make_node("node-1"), pod("a"), pod("b"))
        scheduler.settle()
        assert scheduler.bindings_sent() == []
        scheduler.add(pod("c"))
        scheduler.api.wait_for(lambda _: len(scheduler.bindings_sent()) == 3)


def test_more_pods_may_wait_than_may_be_bound_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.binder.loop.MAX_IN_FLIGHT", 1)
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"), patient("b"), pod("c"))
        waits(scheduler, gatekeeper, "a")
        scheduler.expect_bindings("c on node-1")


def test_a_pod_that_is_deleted_while_it_waits_makes_room_at_once() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), patient("a", cpu="1"))
        waiting = waits(scheduler, gatekeeper, "a")
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_condition("b")
        scheduler.delete(patient("a", cpu="1"))
        scheduler.pass_time(1)
        scheduler.expect_bindings("b on node-1")
        waiting.allow("Gatekeeper")
        scheduler.settle()

        assert scheduler.bindings_sent() == ["b on node-1"]
        assert "Gatekeeper unreserves a" in gatekeeper.log
        assert list(scheduler.cache.waiting_pods) == []


def test_a_pod_whose_deletion_is_asked_for_waits_no_longer() -> None:
    gatekeeper = Gatekeeper()
    going = patient("a", cpu="1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), patient("a", cpu="1"))
        waits(scheduler, gatekeeper, "a")
        scheduler.change(patient("a", cpu="1"), going)
        scheduler.add(pod("b", cpu="1"))

        scheduler.expect_bindings("b on node-1")


def test_a_pod_that_others_bind_while_it_waits_is_left_to_them() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), patient("a", cpu="1"))
        waits(scheduler, gatekeeper, "a")
        scheduler.change(patient("a", cpu="1"), bound_to(patient("a", cpu="1"), "elsewhere"))
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_bindings("b on node-1")
        scheduler.pass_time(60)

        assert "Gatekeeper unreserves a" in gatekeeper.log
        assert {event["regarding"]["name"] for event in scheduler.events()} <= {"b"}


def test_a_pod_that_is_changed_goes_on_waiting() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        waiting = waits(scheduler, gatekeeper, "a")
        changed = msgspec.structs.replace(
            patient("a"), metadata=msgspec.structs.replace(patient("a").metadata, annotations={"x": "y"})
        )
        scheduler.change(patient("a"), changed)
        scheduler.settle()
        waiting.allow("Gatekeeper")

        scheduler.expect_bindings("a on node-1")


def test_a_pod_whose_node_goes_while_it_waits_gets_another() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        waits(scheduler, gatekeeper, "a")
        scheduler.delete(make_node("node-1"))
        scheduler.add(make_node("node-2"))
        scheduler.pass_time(1)
        waits(scheduler, gatekeeper, "a").allow("Gatekeeper")

        scheduler.expect_bindings("a on node-2")


def test_a_replica_that_leads_no_more_lets_none_wait_and_begins_anew_when_it_leads_again() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        old = waits(scheduler, gatekeeper, "a")
        scheduler.is_leader = False
        scheduler.loop.follow()
        scheduler.settle()
        assert gatekeeper.log == ["Gatekeeper reserves a", "Gatekeeper unreserves a"]
        assert list(scheduler.cache.waiting_pods) == []
        old.allow("Gatekeeper")
        scheduler.settle()
        assert scheduler.bindings_sent() == []
        scheduler.is_leader = True
        scheduler.loop.lead(old_leader_may_act=False)
        waits(scheduler, gatekeeper, "a").allow("Gatekeeper")

        scheduler.expect_bindings("a on node-1")


def test_a_pod_allowed_after_the_lease_has_run_out_is_not_bound() -> None:
    gatekeeper = Gatekeeper()

    with scheduling(Gatekeeper=gatekeeper) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        waiting = waits(scheduler, gatekeeper, "a")
        scheduler.is_leader = False
        waiting.allow("Gatekeeper")
        scheduler.expect_result()

        assert scheduler.bindings_sent() == []
        assert "Gatekeeper unreserves a" in gatekeeper.log


def test_a_plugin_that_raises_at_permit_has_nobody_wait() -> None:
    first, broken = Gatekeeper(), Gatekeeper()
    broken.fails = True

    with scheduling(First=first, Broken=broken) as scheduler:
        scheduler.add(make_node("node-1"), patient("a"))
        condition = scheduler.expect_condition("a")

        assert list(scheduler.cache.waiting_pods) == []
    assert condition["reason"] == "SchedulerError"
    assert condition["message"] == "plugin Broken failed in permit: RuntimeError: broken"


def test_a_pending_answer_at_permit_skips_the_backoff() -> None:
    class Fussy:
        def permit(self, pod: Pod, node_name: str) -> Status:
            return Status(Code.PENDING, ("not yet",))

    with scheduling(Fussy=Fussy()) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_condition("a")
        scheduler.is_leader = False
        scheduler.add(make_node("node-2"))
        scheduler.settle()

        assert scheduler.loop._queue.count(Place.ACTIVE) == 1
