from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from webhook.scheduling.nodes import NodeInfo, Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.outcome import Diagnosis, FitError, Placement, PluginFailure
from webhook.scheduling.plugin import Nomination
from webhook.scheduling.record import Record
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status, wait
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

UNSCHEDULABLE = Code.UNSCHEDULABLE
POD = make_pod(cpu="100m", memory="100Mi")


# The last bit that there is.
HIGHEST = np.full(3, 1 << 63, dtype=np.uint64)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


def coded(code: Any) -> Status:
    return Status(code, ("x",))


def reason(code: Any, text: Any) -> Reason:
    return Reason(code, text)


def three_nodes(**plugins: object) -> Any:
    return make_framework(make_cache(*(make_node(name) for name in "abc")), **plugins)


class Likes:
    """Gives one node a better score than the others."""

    def __init__(self, name: str, score: float = 100) -> None:
        self._name, self._score = name, score

    def score_node(self, _pod: Pod, node: NodeInfo) -> float:
        return self._score if node.name == self._name else 0


class Rejects:
    """Rejects the named nodes, each for the given reason."""

    def __init__(self, **reasons: str) -> None:
        self._reasons = reasons
        self.asked = list[str]()

    def filter_node(self, _pod: Pod, node: NodeInfo) -> str | None:
        self.asked.append(node.name)
        return self._reasons.get(node.name)


def test_the_node_with_the_highest_total_is_chosen() -> None:
    decision = three_nodes(Likes=Likes("b")).schedule(POD)

    assert decision == Placement(POD, "b", "uid-of-b", evaluated_nodes=3, feasible_nodes=3)


def test_the_stronger_opinion_decides() -> None:
    assert three_nodes(One=Likes("a", 60), Other=Likes("c", 61)).schedule(POD).node_name == "c"


def test_equal_nodes_are_chosen_about_equally_often() -> None:
    framework = three_nodes()

    chosen = Counter(framework.schedule(POD).node_name for _ in range(300))

    assert set(chosen) == set("abc")
    assert min(chosen.values()) > 60


def test_a_single_feasible_node_is_not_scored() -> None:
    class Explodes:
        def score(self, _pod: Pod, _nodes: Nodes) -> Any:
            raise AssertionError

    decision = three_nodes(Rejects=Rejects(a="no", c="no"), Explodes=Explodes()).schedule(POD)

    assert decision == Placement(POD, "b", "uid-of-b", evaluated_nodes=3, feasible_nodes=1)


def test_a_node_answers_with_the_first_filter_that_rejects_it_and_is_not_shown_to_later_ones() -> None:
    first, second = Rejects(a="first"), Rejects(a="second", b="second", c="second")

    decision = three_nodes(First=first, Second=second).schedule(POD)

    assert decision.message == "0/3 nodes are available: 1 first, 2 second."
    assert second.asked == ["b", "c"]
    assert decision.rejected_by == {"First", "Second"}


def test_a_filter_may_give_several_reasons_for_one_node() -> None:
    class Two:
        reasons = (Reason(UNSCHEDULABLE, "x"), Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "y"))

        def filter(self, _pod: Pod, _nodes: Nodes) -> Any:
            return np.array([1, 2, 3], dtype=np.uint8)

    decision = three_nodes(Two=Two()).schedule(POD)

    assert decision.message == "0/3 nodes are available: 2 x, 2 y."
    assert decision.diagnosis.codes().tolist() == [2, 3, 3]


def test_a_nominated_node_is_taken_without_looking_further_if_it_fits() -> None:
    nominated = make_pod(status={"nominatedNodeName": "c"})

    assert three_nodes(Likes=Likes("a")).schedule(nominated).node_name == "c"
    assert three_nodes(Likes=Likes("a"), Rejects=Rejects(c="no")).schedule(nominated).node_name == "a"
    gone = make_pod(status={"nominatedNodeName": "gone"})
    assert three_nodes(Likes=Likes("a")).schedule(gone).node_name == "a"


class Narrows:
    """Answers at PreFilter."""

    def __init__(self, answer: Status | frozenset[str]) -> None:
        self._answer = answer

    def pre_filter(self, _pod: Pod, _nodes: Nodes) -> Status | frozenset[str]:
        return self._answer


def test_pre_filters_narrow_the_nodes_together() -> None:
    framework = three_nodes(A=Narrows(frozenset("ab")), B=Narrows(frozenset("bc")))

    assert framework.schedule(POD) == Placement(POD, "b", "uid-of-b", evaluated_nodes=1, feasible_nodes=1)


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ({"A": Narrows(frozenset())}, "0/3 nodes are available: node(s) didn't satisfy plugin A."),
        (
            {"B": Narrows(frozenset("a")), "A": Narrows(frozenset("b"))},
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously.",
        ),
        (
            {"A": Narrows(frozenset({"gone"}))},
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A].",
        ),
    ],
)
def test_narrowing_to_nothing_says_who_did(plugins: dict[str, Narrows], message: str) -> None:
    decision = three_nodes(**plugins).schedule(POD)

    assert decision.message == message
    assert decision.rejected_by == set(plugins)


def test_a_pre_filter_that_rejects_the_pod_speaks_for_all_nodes() -> None:
    rejecting = Narrows(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("no such claim",)))

    decision = three_nodes(Claims=rejecting).schedule(POD)

    assert decision.message == "0/3 nodes are available: no such claim."
    assert decision.rejected_by == {"Claims"}
    assert decision.diagnosis.codes().tolist() == [3, 3, 3]


def test_a_filter_whose_pre_filter_skips_is_not_asked() -> None:
    class Skipped(Rejects):
        def pre_filter(self, _pod: Pod, _nodes: Nodes) -> Status:
            return SKIP

    assert isinstance(three_nodes(Skipped=Skipped(a="x", b="x", c="x")).schedule(POD), Placement)


def test_a_score_whose_pre_score_skips_is_not_asked() -> None:
    class Skipped(Likes):
        def pre_score(self, _pod: Pod, _nodes: Nodes) -> Status:
            return SKIP

    assert three_nodes(Skipped=Skipped("a"), Likes=Likes("b", 50)).schedule(POD).node_name == "b"


def test_scores_see_only_the_feasible_nodes() -> None:
    seen = list[list[str]]()

    class Watches:
        def score(self, _pod: Pod, nodes: Nodes) -> Any:
            seen.append(list(nodes.names))
            return np.zeros(len(nodes))

    three_nodes(Rejects=Rejects(b="no"), Watches=Watches()).schedule(POD)

    assert seen == [["a", "c"]]


def test_a_post_filter_may_nominate_a_node_and_adds_its_line() -> None:
    class MakesRoom:
        def post_filter(self, _pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> Nomination:
            assert (len(nodes), diagnosis.all_nodes) == (3, 3)
            return Nomination("room: soon.", node_name="b")

    decision = three_nodes(R=Rejects(a="x", b="x", c="x"), MakesRoom=MakesRoom()).schedule(POD)

    assert decision.message == "0/3 nodes are available: 3 x. room: soon."
    assert decision.nominated_node == "b"


class MakesNoRoom:
    """Says why it can't help, and keeps whether it was asked."""

    def __init__(self, *reasons: str, code: Code = UNSCHEDULABLE) -> None:
        self._status = Status(code, reasons)
        self.asked = False

    def post_filter(self, *_: Any) -> Status:
        self.asked = True
        return self._status


def test_all_post_filters_that_cannot_help_say_why() -> None:
    neither = {"A": MakesNoRoom("no victims.", "none at all."), "B": MakesNoRoom("nothing in reserve.")}

    decision = three_nodes(R=Rejects(a="x", b="x", c="x"), **neither).schedule(POD)

    assert decision.message == (
        "0/3 nodes are available: 3 x. no victims., none at all., nothing in reserve."
    )


def test_a_post_filter_that_knows_that_nothing_helps_has_the_last_word() -> None:
    first, last, unasked = (
        MakesNoRoom("no victims."),
        MakesNoRoom("hopeless.", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        MakesNoRoom("nothing in reserve."),
    )

    decision = three_nodes(R=Rejects(a="x", b="x", c="x"), A=first, B=last, C=unasked).schedule(POD)

    assert decision.message == "0/3 nodes are available: 3 x. hopeless."
    assert not unasked.asked


def test_a_nomination_leaves_out_what_others_said_before() -> None:
    class Nominates:
        def post_filter(self, *_: Any) -> Nomination:
            return Nomination("room: soon.", node_name="b")

    no_room = MakesNoRoom("no victims.")
    decision = three_nodes(R=Rejects(a="x", b="x", c="x"), A=no_room, B=Nominates()).schedule(POD)

    assert decision.message == "0/3 nodes are available: 3 x. room: soon."


def test_a_post_filter_may_act_so_it_is_not_asked_for_a_record() -> None:
    plugin = MakesNoRoom("no victims.")

    decision = three_nodes(R=Rejects(a="x", b="x", c="x"), A=plugin).schedule(POD, Record())

    assert decision.message == "0/3 nodes are available: 3 x."
    assert not plugin.asked


class Answers:
    """Answers whatever it was told to, at any extension point."""

    reasons = (Reason(UNSCHEDULABLE, "no"),)

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def _answer(self, point: str, default: Any) -> Any:
        answer = self._answers.get(point, default)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def pre_filter(self, *_: Any) -> Any:
        return self._answer("pre_filter", SUCCESS)

    def filter(self, _pod: Pod, nodes: Nodes) -> Any:
        return self._answer("filter", np.ones(len(nodes), dtype=np.bool_))

    def pre_score(self, *_: Any) -> Any:
        return self._answer("pre_score", SUCCESS)

    def score(self, _pod: Pod, nodes: Nodes) -> Any:
        return self._answer("score", np.zeros(len(nodes)))

    def normalize_score(self, _pod: Pod, scores: Any) -> Any:
        return self._answer("normalize_score", scores)

    def pre_enqueue(self, *_: Any) -> Any:
        return self._answer("pre_enqueue", SUCCESS)

    def reserve(self, *_: Any) -> Any:
        return self._answer("reserve", SUCCESS)

    def unreserve(self, *_: Any) -> None:
        self._answer("unreserve", None)

    def permit(self, *_: Any) -> Any:
        return self._answer("permit", SUCCESS)

    def pre_bind(self, *_: Any) -> Any:
        return self._answer("pre_bind", SUCCESS)

    def bind(self, *_: Any) -> Any:
        return self._answer("bind", SKIP)

    def post_bind(self, *_: Any) -> None:
        self._answer("post_bind", None)


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({"pre_filter": RuntimeError("boom")}, "pre_filter: RuntimeError: boom"),
        ({"filter": ZeroDivisionError("oops")}, "filter: ZeroDivisionError: oops"),
        ({"score": KeyError("k")}, "score: KeyError: 'k'"),
        ({"normalize_score": ValueError("v")}, "normalize_score: ValueError: v"),
        ({"pre_score": OSError("disk")}, "pre_score: OSError: disk"),
        ({"filter": SystemExit(3)}, "filter: SystemExit: 3"),
        ({"score": asyncio.CancelledError()}, "score: CancelledError: "),
        ({"pre_filter": None}, "pre_filter: expected a Status, got a NoneType"),
        ({"pre_filter": Status(Code.ERROR, ("no API",))}, "pre_filter: no API"),
        ({"pre_filter": coded("Unschedulable")}, "pre_filter: code: expected a Code, got 'Unschedulable'"),
        ({"pre_filter": coded(0)}, "pre_filter: code: expected a Code, got 0"),
        ({"pre_filter": coded(99)}, "pre_filter: code: expected a Code, got 99"),
        ({"pre_filter": Status(UNSCHEDULABLE)}, "pre_filter: the code UNSCHEDULABLE needs a reason"),
        ({"pre_filter": Status(UNSCHEDULABLE, ("",))}, "pre_filter: the code UNSCHEDULABLE needs a reason"),
        ({"filter": Mute()}, "filter: Mute$"),
        ({"pre_filter": Status(Code.WAIT)}, "pre_filter: the code WAIT means nothing here"),
        ({"pre_score": Status(UNSCHEDULABLE)}, "pre_score: the code UNSCHEDULABLE means nothing here"),
        ({"filter": [True, True, True]}, "filter: expected 3 bools or integers, got a list"),
        ({"filter": np.ones(2, dtype=np.bool_)}, r"filter: expected 3 .* bool with shape \(2,\)"),
        ({"filter": np.ones(3)}, r"filter: expected 3 .* float64 with shape \(3,\)"),
        ({"filter": np.array([0, 2, 0])}, "filter: bits are set beyond its 1 reasons"),
        ({"filter": np.array([0, -1, 0])}, "filter: bits are set beyond its 1 reasons"),
        ({"score": np.zeros((3, 1))}, r"score: expected 3 numbers, got .* \(3, 1\)"),
        ({"score": np.array([1, None, 2])}, "score: expected 3 numbers, got an array of object"),
        (
            {"score": np.array([0.0, np.nan, 1.0])},
            "normalize_score: score nan of node b is not between 0 and 100",
        ),
        (
            {"score": np.array([0.0, np.inf, 1.0])},
            "normalize_score: score inf of node b is not between 0 and 100",
        ),
        ({"score": np.array([0, 101, 1])}, "normalize_score: score 101 of node b is not between 0 and 100"),
        (
            {"normalize_score": np.array([0, -1, 1])},
            "normalize_score: score -1 of node b is not between 0 and 100",
        ),
    ],
)
def test_a_plugin_that_raises_or_answers_nonsense_fails_only_the_attempt(
    answers: dict[str, Any], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    framework = three_nodes(Faulty=Answers(**answers))

    decision = framework.schedule(POD)

    assert isinstance(decision, PluginFailure)
    assert (decision.plugin, decision.reason) == ("Faulty", "SchedulerError")
    with pytest.raises(AssertionError, match=f"plugin Faulty failed in {fault}"):
        raise AssertionError(decision.message)


@pytest.mark.parametrize(
    ("reasons", "fault"),
    [
        ((Reason(UNSCHEDULABLE, "r"),) * 65, "expected at most 64, got 65"),
        ((reason(UNSCHEDULABLE, None),), "expected a tuple of Reason, each with code and text, got .*None"),
        ((Reason(UNSCHEDULABLE, ""),), "expected a tuple of Reason, each with code and text"),
        ((reason("no", "r"),), "expected a tuple of Reason, each with code and text"),
        ((Reason(Code.SUCCESS, "r"),), "expected a tuple of Reason, each with code and text"),
        ("r", "expected a tuple of Reason, each with code and text, got 'r'"),
    ],
)
def test_reasons_that_nobody_could_read_fail_the_attempt(reasons: Any, fault: str) -> None:
    faulty = Answers(filter=HIGHEST)
    faulty.reasons = reasons

    decision = three_nodes(Faulty=faulty).schedule(POD)

    with pytest.raises(AssertionError, match=f"plugin Faulty failed in filter: reasons: {fault}"):
        raise AssertionError(decision.message)


def test_a_plugin_that_makes_no_room_need_not_say_why() -> None:
    class Helpless:
        def post_filter(self, *_: Any) -> Status:
            return Status(UNSCHEDULABLE)

    decision = three_nodes(Helpless=Helpless()).schedule(make_pod(cpu="1000"))

    assert isinstance(decision, FitError)
    assert decision.message.startswith("0/3 nodes are available: 3 Insufficient cpu")


def test_a_plugin_that_calls_the_pod_pending_is_told_apart() -> None:
    refusal = Status(Code.PENDING, ("not yet",))

    decision = three_nodes(Waits=Answers(pre_filter=refusal)).schedule(POD)

    assert isinstance(decision, FitError)
    assert (decision.rejected_by, decision.pending_by) == (frozenset({"Waits"}), frozenset({"Waits"}))
    assert decision.message == "0/3 nodes are available: not yet."


def test_a_filter_that_calls_the_pod_pending_is_told_apart_and_preemption_is_no_help() -> None:
    class Waits:
        reasons = (Reason(Code.UNSCHEDULABLE, "full"), Reason(Code.PENDING, "not yet"))

        def filter(self, _pod: Pod, nodes: Nodes) -> Any:
            return np.array([{"a": 1}.get(name, 2) for name in nodes.names])

    decision = three_nodes(Waits=Waits()).schedule(POD)

    assert isinstance(decision, FitError)
    assert decision.pending_by == {"Waits"}
    assert decision.diagnosis.codes().tolist() == [Code.UNSCHEDULABLE, Code.PENDING, Code.PENDING]


def test_a_reason_that_no_node_gives_makes_no_pod_pending() -> None:
    class Waits:
        reasons = (Reason(Code.UNSCHEDULABLE, "full"), Reason(Code.PENDING, "not yet"))

        def filter(self, _pod: Pod, nodes: Nodes) -> Any:
            return np.ones(len(nodes), dtype=np.int64)

    decision = three_nodes(Waits=Waits()).schedule(POD)

    assert isinstance(decision, FitError)
    assert (decision.rejected_by, decision.pending_by) == (frozenset({"Waits"}), frozenset())


def test_what_a_plugin_raised_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    three_nodes(Faulty=Answers(filter=RuntimeError("boom"))).schedule(POD)

    (record,) = caplog.records
    assert record.getMessage() == "plugin Faulty raised in filter"
    assert record.exc_info is not None


@pytest.mark.parametrize("point", ["pre_enqueue", "reserve", "permit", "pre_bind", "bind"])
@pytest.mark.parametrize("kind", [RuntimeError, SystemExit, asyncio.CancelledError])
def test_a_plugin_that_raises_around_binding_answers_error(
    point: str, kind: Callable[[str], BaseException]
) -> None:
    framework = three_nodes(Faulty=Answers(**{point: kind("boom")}))
    arguments = (POD,) if point == "pre_enqueue" else (POD, "a")

    answer = getattr(framework, point)(*arguments)
    status = answer[0] if point == "permit" else answer

    assert status.code is Code.ERROR
    assert status.reasons == (f"plugin Faulty failed in {point}: {kind.__name__}: boom",)
    assert status.plugin == "Faulty"


def test_only_what_comes_in_the_main_thread_interrupts_the_process() -> None:
    framework = three_nodes(Faulty=Answers(filter=KeyboardInterrupt()))
    decisions = []

    with pytest.raises(KeyboardInterrupt):
        framework.schedule(POD)
    elsewhere = threading.Thread(target=lambda: decisions.append(framework.schedule(POD)))
    elsewhere.start()
    elsewhere.join()

    (decision,) = decisions
    assert isinstance(decision, PluginFailure)


def test_the_first_plugin_that_refuses_is_named() -> None:
    refusal = Status(UNSCHEDULABLE, ("not now",))
    framework = three_nodes(Fine=Answers(), First=Answers(permit=refusal), Second=Answers(permit=refusal))

    assert framework.permit(POD, "a") == (Status(UNSCHEDULABLE, ("not now",), "First"), {})
    assert framework.pre_bind(POD, "a") == SUCCESS
    assert framework.bind(POD, "a") == SKIP


def test_a_plugin_may_bind_in_place_of_the_binder() -> None:
    assert three_nodes(Binds=Answers(bind=SUCCESS)).bind(POD, "a") == SUCCESS


def test_plugins_can_ask_at_permit_to_wait_each_for_its_own_time() -> None:
    framework = three_nodes(
        One=Answers(permit=wait(10)), Fine=Answers(), Other=Answers(permit=wait(3600)), Last=Answers()
    )

    assert framework.permit(POD, "a") == (Status(Code.WAIT), {"One": 10, "Other": 900})


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Status(UNSCHEDULABLE, ("no",)), Status(UNSCHEDULABLE, ("no",), "Second")),
        (
            RuntimeError("boom"),
            Status(Code.ERROR, ("plugin Second failed in permit: RuntimeError: boom",), "Second"),
        ),
    ],
)
def test_nobody_waits_for_a_pod_that_another_plugin_refuses_at_permit(answer: Any, status: Status) -> None:
    framework = three_nodes(First=Answers(permit=wait(10)), Second=Answers(permit=answer))

    assert framework.permit(POD, "a") == (status, {})


@pytest.mark.parametrize("timeout", [-1, float("nan"), "10"])
def test_a_time_to_wait_that_is_none_fails_the_attempt(timeout: Any) -> None:
    status, _ = three_nodes(Waits=Answers(permit=wait(timeout))).permit(POD, "a")

    assert status.code is Code.ERROR
    assert (
        status.message == f"plugin Waits failed in permit: timeout: expected seconds to wait, got {timeout!r}"
    )


def test_a_refused_reservation_is_taken_back_from_all_even_if_one_raises() -> None:
    calls = list[str]()

    class Ledger:
        def __init__(self, name: str, status: Status = SUCCESS) -> None:
            self._name, self._status = name, status

        def reserve(self, _pod: Pod, node_name: str) -> Status:
            calls.append(f"{self._name}+{node_name}")
            return self._status

        def unreserve(self, _pod: Pod, node_name: str) -> None:
            calls.append(f"{self._name}-{node_name}")
            raise RuntimeError

    refusing = Ledger("two", Status(UNSCHEDULABLE, ("full",)))
    status = three_nodes(One=Ledger("one"), Two=refusing, Three=Ledger("three")).reserve(POD, "a")

    assert status == Status(UNSCHEDULABLE, ("full",), "Two")
    assert calls == ["one+a", "two+a", "three-a", "two-a", "one-a"]


def test_what_is_told_after_binding_never_raises_but_says_who_failed() -> None:
    (fault,) = three_nodes(Faulty=Answers(post_bind=RuntimeError("boom"))).post_bind(POD, "a")

    assert (fault.plugin, fault.message) == (
        "Faulty",
        "plugin Faulty failed in post_bind: RuntimeError: boom",
    )


def test_a_gated_pod_is_kept_out_by_name() -> None:
    gated = make_pod(spec={"schedulingGates": [{"name": "g"}]})

    assert three_nodes().pre_enqueue(gated).plugin == "SchedulingGates"
    assert three_nodes().pre_enqueue(POD).is_success


def test_the_queue_is_sorted_by_priority_and_then_time() -> None:
    framework = three_nodes()

    assert framework.sort_key(make_pod(spec={"priority": 1}), 9.0) < framework.sort_key(POD, 1.0)
    assert framework.sort_key(POD, 1.0) < framework.sort_key(POD, 2.0)


def test_the_last_pod_that_fits_leaves_no_room_for_the_next() -> None:
    cache = make_cache(make_node("n", cpu="1"))
    framework = make_framework(cache)
    first = make_pod("first", cpu="1")

    decision = framework.schedule(first)
    assert isinstance(decision, Placement)
    cache.assume(first, decision.node_name)
    following = framework.schedule(make_pod("second", cpu="1"))
    cache.forget(first)

    assert isinstance(following, FitError)
    assert isinstance(framework.schedule(make_pod("second", cpu="1")), Placement)
