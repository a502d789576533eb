from __future__ import annotations

import asyncio
import logging
import threading

import msgspec
import pytest
from prometheus_client import REGISTRY

from tests.binder.scheduler import bound_to, created, framework_sorted_by, pod, scheduling
from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, in_order
from tests.waiting import eventually
from webhook.scheduling.events import (
    Action,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status
from webhook.scheduling.testing import make_node, make_pod


def assigned(node: str) -> str:
    return f'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "{node}"'


def attempts(result: str) -> float:
    labels = {"result": result, "profile": "custom-scheduler"}
    return REGISTRY.get_sample_value("scheduler_schedule_attempts_total", labels) or 0.0


class Doorman:
    """A plugin that holds bindings up right before they are sent."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.open = threading.Event()

    def pre_bind(self, pod: Pod, node_name: str) -> Status:
        self.arrived.release()
        assert self.open.wait(PATIENCE_SECONDS)
        return SUCCESS

    def wait(self) -> None:
        assert self.arrived.acquire(timeout=PATIENCE_SECONDS)


def test_a_pod_is_bound_and_told_so() -> None:
    before = attempts("scheduled")

    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_bindings("a on node-1")
        event = scheduler.expect_event("Scheduled", "a")

    assert event["note"] == "Successfully assigned default/a to node-1"
    assert (event["type"], event["action"]) == ("Normal", "Binding")
    assert event["reportingController"] == "custom-scheduler"
    assert attempts("scheduled") == before + 1


def test_a_pod_that_fits_nowhere_is_told_why_and_bound_when_it_fits(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "custom_scheduler")

    with scheduling() as scheduler:
        scheduler.add(make_node("small", cpu="1"), pod("a", cpu="2"))
        condition = scheduler.expect_condition("a")
        event = scheduler.expect_event("FailedScheduling", "a")
        scheduler.add(make_node("big", cpu="8"))
        scheduler.expect_bindings("a on big")
        scheduler.expect_event("Scheduled", "a")

    message = "0/1 nodes are available: 1 Insufficient cpu."
    assert (condition["reason"], condition["message"]) == ("Unschedulable", message)
    assert (event["type"], event["action"], event["note"]) == ("Warning", "Scheduling", message)
    assert "No suitable node found for pod default/a" in caplog.messages
    assert "Bound default/a to big" in caplog.messages


def test_a_pod_that_asks_for_what_we_cannot_do_is_pending_for_another_reason() -> None:
    spec = {"resourceClaims": [{"name": "gpu"}]}

    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a", spec=spec))
        condition = scheduler.expect_condition("a")

    assert condition["reason"] == "Unsupported"
    assert "spec.resourceClaims" in condition["message"]


def test_pods_of_other_schedulers_count_but_are_left_alone() -> None:
    theirs = make_pod("theirs", cpu="3", spec={"schedulerName": "default-scheduler"})

    with scheduling() as scheduler:
        scheduler.add(make_node("node-1", cpu="4"), theirs)
        scheduler.add(bound_to(theirs, "node-1"), pod("a", cpu="2"))
        scheduler.expect_condition("a")

        assert scheduler.bindings_sent() == []


def test_a_placement_counts_before_the_watch_shows_it() -> None:
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a", host_ports=[80]), pod("b", host_ports=[80]))
        scheduler.expect_condition("b")
        scheduler.expect_bindings("a on node-1")


def test_a_watch_that_lags_behind_does_not_queue_a_bound_pod_again() -> None:
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_event("Scheduled", "a")
        scheduler.change(pod("a"), pod("a", labels={"changed": "before the binding"}))
        scheduler.settle()
        scheduler.change(pod("a"), bound_to(pod("a"), "node-1"))
        scheduler.settle()

        assert scheduler.bindings_sent() == ["a on node-1"]


def test_a_failed_binding_gives_its_room_back_and_is_tried_again_after_a_second() -> None:
    before = attempts("error")

    with scheduling(in_order(lambda exchange: exchange.refuse(500), created, created)) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        condition = scheduler.expect_condition("a")
        scheduler.pass_time(0.9)
        assert scheduler.bindings_sent() == ["a on node-1"]
        scheduler.pass_time(0.2)
        scheduler.expect_bindings("a on node-1", "a on node-1")

    assert condition["reason"] == "SchedulerError"
    assert condition["message"].startswith("binding rejected: ")
    assert attempts("error") == before + 1


def test_the_room_of_a_failed_binding_is_there_for_others() -> None:
    with scheduling(in_order(lambda exchange: exchange.refuse(500), created)) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        scheduler.expect_condition("a")
        scheduler.add(pod("b", cpu="1"))

        scheduler.expect_bindings("a on node-1", "b on node-1")


def test_a_pod_that_others_bound_is_not_tried_again_and_not_warned_about() -> None:
    with scheduling(lambda exchange: exchange.refuse(409, assigned("elsewhere"))) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_result()
        scheduler.pass_time(60)
        scheduler.change(pod("a"), bound_to(pod("a"), "elsewhere"))
        scheduler.pass_time(60)

    assert scheduler.bindings_sent() == ["a on node-1"]
    assert scheduler.events() == []


def test_an_answer_that_got_lost_is_found_out_and_the_pod_is_bound_once() -> None:
    with scheduling(
        in_order(Exchange.cut, lambda exchange: exchange.refuse(409, assigned("node-1")))
    ) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_event("Scheduled", "a")

        assert scheduler.bindings_sent() == ["a on node-1"] * 2


def test_the_watch_may_show_a_binding_before_its_answer_comes() -> None:
    arrived, release = threading.Event(), threading.Event()

    def slow(exchange: Exchange) -> None:
        arrived.set()
        assert release.wait(PATIENCE_SECONDS)
        created(exchange)

    with scheduling(slow) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        assert arrived.wait(PATIENCE_SECONDS)
        scheduler.change(pod("a", cpu="1"), bound_to(pod("a", cpu="1"), "node-1"))
        scheduler.settle()
        release.set()
        scheduler.expect_event("Scheduled", "a")
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_condition("b")

        assert scheduler.bindings_sent() == ["a on node-1"]


def test_a_pod_deleted_before_its_binding_is_sent_is_not_bound_and_gives_its_room_back() -> None:
    doorman = Doorman()

    with scheduling(Doorman=doorman) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        doorman.wait()
        scheduler.delete(pod("a", cpu="1"))
        scheduler.settle()
        doorman.open.set()
        scheduler.add(pod("b", cpu="1"))

        scheduler.expect_bindings("b on node-1")


def test_a_pod_deleted_before_its_binding_is_sent_wakes_those_that_wait_for_its_room() -> None:
    doorman = Doorman()

    with scheduling(Doorman=doorman) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        doorman.wait()
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_condition("b")
        scheduler.delete(pod("a", cpu="1"))
        scheduler.pass_time(1)
        doorman.open.set()

        scheduler.expect_bindings("b on node-1")


def test_a_pod_deleted_while_its_binding_is_under_way_is_let_go() -> None:
    with scheduling(in_order(lambda exchange: exchange.refuse(404), created)) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        scheduler.expect_bindings("a on node-1")
        scheduler.add(pod("b", cpu="1"))
        scheduler.expect_bindings("a on node-1", "b on node-1")
        scheduler.delete(pod("a", cpu="1"))
        scheduler.pass_time(60)
        # Events are written in their order, so one about the other pod would have come before.
        scheduler.expect_event("Scheduled", "b")

        assert len(scheduler.bindings_sent()) == 2
        assert {event["regarding"]["name"] for event in scheduler.events()} == {"b"}


def test_a_pod_made_anew_under_the_same_name_is_another_pod() -> None:
    uid_conflict = "Precondition failed: UID in precondition: old, UID in object meta: new"
    arrived, release = threading.Event(), threading.Event()

    def first(exchange: Exchange) -> None:
        arrived.set()
        assert release.wait(PATIENCE_SECONDS)
        exchange.refuse(409, uid_conflict)

    with scheduling(in_order(first, created)) as scheduler:
        scheduler.add(make_node("node-1"), pod("a", uid="old"))
        assert arrived.wait(PATIENCE_SECONDS)
        scheduler.delete(pod("a", uid="old"))
        scheduler.add(pod("a", uid="new"))
        scheduler.expect_bindings("a on node-1", "a on node-1")
        release.set()
        event = scheduler.expect_event("Scheduled", "a")

    sent = [
        exchange.json["metadata"]["uid"] for exchange in scheduler.api.exchanges if "binding" in exchange.path
    ]
    assert sent == ["old", "new"]
    assert event["regarding"]["uid"] == "new"


@pytest.mark.parametrize("made_anew", [False, True])
def test_no_pod_is_bound_to_a_node_that_went_meanwhile(made_anew: bool) -> None:
    doorman = Doorman()

    with scheduling(Doorman=doorman) as scheduler:
        node = make_node("node-1")
        scheduler.add(node, pod("a"))
        doorman.wait()
        scheduler.delete(node)
        if made_anew:
            meta = msgspec.structs.replace(node.metadata, uid="another", labels={"fresh": "yes"})
            scheduler.add(msgspec.structs.replace(node, metadata=meta))
        else:
            scheduler.add(make_node("node-2"))
        scheduler.settle()
        doorman.open.set()
        scheduler.expect_bindings("a on node-1" if made_anew else "a on node-2")

        assert scheduler.cache.table.row_of("node-1") is (0 if made_anew else None)


def test_a_gated_pod_is_not_bound_until_its_gates_are_gone() -> None:
    gated = pod("a", spec={"schedulingGates": [{"name": "wait"}]})

    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), gated)
        scheduler.pass_time(600)
        assert scheduler.api.exchanges == []
        scheduler.change(gated, pod("a"))

        scheduler.expect_bindings("a on node-1")


def test_a_pod_that_ends_makes_room() -> None:
    running = pod("old", cpu="1", node="node-1")

    with scheduling() as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), running, pod("a", cpu="1"))
        scheduler.expect_condition("a")
        scheduler.change(
            running, msgspec.structs.replace(running, status=make_pod(status={"phase": "Failed"}).status)
        )
        scheduler.pass_time(1)

        scheduler.expect_bindings("a on node-1")


def test_a_pod_that_is_being_deleted_is_not_tried() -> None:
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
        scheduler.settle()

        assert scheduler.api.exchanges == []


def test_an_impossible_pod_of_high_priority_keeps_nobody_waiting() -> None:
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1", pods="200"), pod("impossible", priority=1000, cpu="1000"))
        scheduler.add(*[pod(f"small-{number}") for number in range(20)])

        scheduler.api.wait_for(lambda _: len(scheduler.bindings_sent()) == 20)


def test_a_replica_that_does_not_lead_follows_but_decides_nothing() -> None:
    with scheduling(leading=False) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()
        assert scheduler.api.exchanges == []
        scheduler.loop.lead(old_leader_may_act=False)

        scheduler.expect_bindings("a on node-1")


def test_a_new_leader_waits_for_the_requests_of_one_that_may_still_act() -> None:
    with scheduling(leading=False) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.loop.lead(old_leader_may_act=True)
        scheduler.settle()
        scheduler.pass_time(9.9)
        assert scheduler.bindings_sent() == []
        scheduler.pass_time(0.2)

        scheduler.expect_bindings("a on node-1")


def test_a_leader_that_follows_again_decides_nothing_more() -> None:
    with scheduling() as scheduler:
        scheduler.loop.follow()
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()

        assert scheduler.api.exchanges == []


def test_a_lease_that_runs_out_stops_a_binding_right_before_it_is_sent() -> None:
    doorman = Doorman()

    with scheduling(Doorman=doorman) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        doorman.wait()
        scheduler.is_leader = False
        doorman.open.set()
        scheduler.expect_result()
        assert scheduler.bindings_sent() == []
        scheduler.is_leader = True
        scheduler.settle()

        scheduler.expect_bindings("a on node-1")


@pytest.mark.parametrize("fault", [ZeroDivisionError, asyncio.CancelledError])
def test_a_plugin_that_raises_fails_that_attempt_and_no_other_pod(fault: type[BaseException]) -> None:
    class Broken:
        def filter_node(self, pod: Pod, node: object) -> str | None:
            if pod.metadata.name == "unlucky":
                raise fault
            return None

    with scheduling(Broken=Broken()) as scheduler:
        scheduler.add(make_node("node-1"), pod("unlucky"), pod("a"))
        condition = scheduler.expect_condition("unlucky")
        scheduler.expect_bindings("a on node-1")

    assert condition["reason"] == "SchedulerError"
    assert "plugin Broken" in condition["message"]


class Choosy:
    """Refuses the first node that is chosen, at the point it is told."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.refuses = True
        self.reserved: list[str] = []

    def reserve(self, pod: Pod, node_name: str) -> Status:
        self.reserved.append(node_name)
        return self._answer("reserve")

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.reserved.remove(node_name)

    def permit(self, pod: Pod, node_name: str) -> Status:
        return self._answer("permit")

    def pre_bind(self, pod: Pod, node_name: str) -> Status:
        return self._answer("pre_bind")

    def _answer(self, point: str) -> Status:
        if point == self.point and self.refuses:
            return Status(Code.UNSCHEDULABLE, ("not this one",))
        return SUCCESS


def test_a_pod_that_a_plugin_refuses_while_it_is_bound_is_tried_again_without_any_event() -> None:
    choosy = Choosy("pre_bind")

    with scheduling(Choosy=choosy) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        condition = scheduler.expect_condition("a")
        choosy.refuses = False
        scheduler.pass_time(0.9)
        assert scheduler.bindings_sent() == []
        scheduler.pass_time(0.2)
        scheduler.expect_bindings("a on node-1")

    assert (condition["reason"], condition["message"]) == ("Unschedulable", "not this one")
    assert choosy.reserved == ["node-1"]


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_a_plugin_can_refuse_the_chosen_node_and_keeps_no_account_of_it(point: str) -> None:
    choosy = Choosy(point)

    with scheduling(Choosy=choosy) as scheduler:
        scheduler.add(make_node("node-1", cpu="1"), pod("a", cpu="1"))
        condition = scheduler.expect_condition("a")
        assert choosy.reserved == []
        choosy.refuses = False
        scheduler.pass_time(1)
        scheduler.add(make_node("node-2", cpu="500m"))
        scheduler.expect_bindings("a on node-1")

    assert (condition["reason"], condition["message"]) == (
        "Unschedulable",
        "0/1 nodes are available: 1 not this one.",
    )
    assert choosy.reserved == ["node-1"]


class Faulty:
    """Raises at the point it is told, for as long as it is told."""

    def __init__(self, point: str) -> None:
        self.is_faulty = True
        setattr(self, point, self._answer)

    def _answer(self, _pod: Pod, _node_name: str = "") -> Status:
        if self.is_faulty:
            raise RuntimeError("boom")
        return Status(Code.SKIP) if hasattr(self, "bind") else SUCCESS

    def unreserve(self, _pod: Pod, _node_name: str) -> None:
        """A plugin with `reserve` needs it too."""


def failures(plugin: str) -> float:
    return REGISTRY.get_sample_value("custom_scheduler_plugin_failures_total", {"plugin": plugin}) or 0.0


@pytest.mark.parametrize("point", ["pre_enqueue", "reserve", "permit", "pre_bind", "bind"])
def test_a_plugin_that_raises_outside_of_the_decision_is_told_counted_and_tried_again(point: str) -> None:
    faulty = Faulty(point)
    before = failures("Faulty")

    with scheduling(Faulty=faulty) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        condition = scheduler.expect_condition("a")
        event = scheduler.expect_event("FailedScheduling", "a")
        assert failures("Faulty") == before + 1
        faulty.is_faulty = False
        scheduler.pass_time(1.1)
        scheduler.expect_bindings("a on node-1")

    message = f"plugin Faulty failed in {point}: RuntimeError: boom"
    assert (condition["reason"], condition["message"]) == ("SchedulerError", message)
    assert event["note"] == message
    assert scheduler.suspected == []


@pytest.mark.parametrize("point", ["pre_enqueue", "reserve", "permit", "pre_bind", "bind", "post_bind"])
def test_a_plugin_that_fails_ten_pods_in_a_row_is_suspected_whatever_it_fails_in(point: str) -> None:
    before = failures("Faulty")

    with scheduling(Faulty=Faulty(point)) as scheduler:
        scheduler.add(make_node("node-1"), *(pod(f"a-{number}") for number in range(10)))
        eventually(lambda: scheduler.suspected)

    why = f"10 decisions in a row have failed: plugin Faulty failed in {point}: RuntimeError: boom"
    assert scheduler.suspected == [("Faulty", why)]
    assert failures("Faulty") == before + 10


class Unordered:
    """Can't say where a pod belongs."""

    def sort_key(self, _pod: Pod, _queued_at: float) -> tuple[float, ...]:
        raise RuntimeError("boom")


class Forgetful:
    """Refuses every pod that it has counted, and then can't take it back."""

    def reserve(self, _pod: Pod, _node_name: str) -> Status:
        return Status(Code.UNSCHEDULABLE, ("not now",))

    def unreserve(self, _pod: Pod, _node_name: str) -> None:
        raise RuntimeError("boom")


class Clueless:
    """Rejects all nodes, and can't say what would help."""

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (ClusterEventWithHint(ClusterEvent(Resource.NODE, Action.ADD), self._hint),)

    def _hint(self, _pod: Pod, _old: object, _new: object) -> QueueingHint:
        raise RuntimeError("boom")

    def filter_node(self, _pod: Pod, _node: object) -> str:
        return "no"


def test_a_plugin_that_fails_in_taking_back_is_counted_and_suspected() -> None:
    before = failures("Forgetful")

    with scheduling(Forgetful=Forgetful()) as scheduler:
        scheduler.add(make_node("node-1"), *(pod(f"a-{number}") for number in range(10)))
        eventually(lambda: scheduler.suspected)

    why = "10 decisions in a row have failed: plugin Forgetful failed in unreserve: RuntimeError: boom"
    assert scheduler.suspected == [("Forgetful", why)]
    assert failures("Forgetful") == before + 10


def test_a_plugin_that_fails_in_the_queues_order_is_counted_and_suspected() -> None:
    before = failures("Unordered")

    with scheduling() as scheduler:
        unordered = framework_sorted_by(Unordered(), scheduler.cache)
        scheduler.loop.replace({"custom-scheduler": unordered})
        scheduler.add(make_node("node-1"), *(pod(f"a-{number}") for number in range(10)))
        eventually(lambda: len(scheduler.bindings_sent()) == 10)

    why = "10 decisions in a row have failed: plugin Unordered failed in sort_key: RuntimeError: boom"
    assert scheduler.suspected == [("Unordered", why)]
    assert failures("Unordered") == before + 10


def test_a_plugin_that_fails_in_its_hints_is_counted_but_goes_on_to_reject() -> None:
    before = failures("Clueless")

    with scheduling(Clueless=Clueless()) as scheduler:
        scheduler.add(make_node("node-0"), *(pod(f"a-{number}") for number in range(12)))
        scheduler.expect_condition("a-11")
        scheduler.add(make_node("node-1"))
        scheduler.settle()

    assert failures("Clueless") == before + 12
    assert scheduler.suspected == []


def test_a_replica_that_does_not_lead_does_not_suspect_what_fails_in_the_queues_order() -> None:
    before = failures("Unordered")

    with scheduling(leading=False) as scheduler:
        scheduler.is_leader = False
        scheduler.loop.replace({"custom-scheduler": framework_sorted_by(Unordered(), scheduler.cache)})
        scheduler.add(make_node("node-1"), *(pod(f"a-{number}") for number in range(10)))
        scheduler.settle()

    assert (failures("Unordered"), scheduler.suspected) == (before, [])


def test_a_replica_that_does_not_lead_tells_nothing_of_a_plugin_that_fails() -> None:
    before = failures("Faulty")

    with scheduling(leading=False, Faulty=Faulty("pre_enqueue")) as scheduler:
        scheduler.is_leader = False
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()

    assert failures("Faulty") == before
    assert scheduler.events() == []


def test_waiting_pods_are_counted_by_queue() -> None:
    with scheduling(leading=False) as scheduler:
        scheduler.add(
            make_node("node-1"), pod("a"), pod("b"), pod("c", spec={"schedulingGates": [{"name": "x"}]})
        )
        scheduler.settle()
        scheduler.pass_time(2)

        values = {
            queue: REGISTRY.get_sample_value("scheduler_pending_pods", {"queue": queue})
            for queue in ("active", "backoff", "unschedulable", "gated")
        }
    assert values == {"active": 2.0, "backoff": 0.0, "unschedulable": 0.0, "gated": 1.0}


def test_what_plugins_were_asked_is_counted_by_profile() -> None:
    labels = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "profile": "custom-scheduler"}

    def evaluations() -> float:
        return REGISTRY.get_sample_value("scheduler_plugin_evaluation_total", labels) or 0.0

    before = evaluations()
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), make_node("node-2"), pod("a"))
        scheduler.expect_event("Scheduled", "a")
        scheduler.pass_time(2)

    assert evaluations() == before + 2


def test_a_message_that_cannot_be_taken_in_costs_that_message_only(caplog: pytest.LogCaptureFixture) -> None:
    with scheduling() as scheduler:
        scheduler.loop._inbox.put(lambda: 1 // 0)  # type: ignore[arg-type]  # what it returns doesn't matter
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_bindings("a on node-1")

    assert "a change could not be taken in" in caplog.text


def test_pausing_decides_nothing_more_but_takes_results_in() -> None:
    doorman = Doorman()

    with scheduling(Doorman=doorman) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        doorman.wait()
        scheduler.loop.pause()
        scheduler.add(pod("b"))
        scheduler.settle()
        doorman.open.set()
        scheduler.expect_event("Scheduled", "a")

        assert scheduler.bindings_sent() == ["a on node-1"]


def test_a_decision_that_hangs_is_told_by_the_name_of_its_pod() -> None:
    asked, answered = threading.Event(), threading.Event()

    class Hanging:
        def filter_node(self, _pod: Pod, _node: NodeInfo) -> None:
            asked.set()
            answered.wait(PATIENCE_SECONDS)

    with scheduling(Hanging=Hanging()) as scheduler:
        scheduler.add(make_node("node-1"), pod("slow"))
        assert asked.wait(PATIENCE_SECONDS)
        told_at_once = scheduler.loop.stuck()
        scheduler.now += 31
        told_later = scheduler.loop.stuck()
        answered.set()
        scheduler.settle()

        assert told_at_once == ""
        assert told_later == "deciding on default/slow for 31 s"
        assert scheduler.loop.stuck() == ""
