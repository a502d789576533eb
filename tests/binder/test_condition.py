from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi, Script, in_order
from webhook.binder.condition import ConditionWriter, NotScheduled
from webhook.kube.backoff import Backoff
from webhook.scheduling.objects import Pod
from webhook.scheduling.testing import make_pod

OUTCOME = NotScheduled(reason="Unschedulable", message="0/3 nodes are available: 3 Insufficient cpu.")


def pod(name: str = "web-1", *, generation: int = 2, nominated: str = "", **condition: Any) -> Pod:
    status: dict[str, Any] = {"nominatedNodeName": nominated}
    if condition:
        status["conditions"] = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", **condition}]
    return make_pod(
        name, namespace="shop", metadata={"uid": f"uid-{name}", "generation": generation}, status=status
    )


def told(**changes: Any) -> dict[str, Any]:
    return {
        "status": "False",
        "reason": OUTCOME.reason,
        "message": OUTCOME.message,
        "observedGeneration": 2,
        **changes,
    }


def ok(exchange: Exchange) -> None:
    exchange.reply(200, {})


class Held:
    """A script by which requests wait until they are released."""

    def __init__(self) -> None:
        self.arrived, self.released = threading.Event(), threading.Event()

    def __call__(self, exchange: Exchange) -> None:
        self.arrived.set()
        self.released.wait(5)
        ok(exchange)


@contextmanager
def writing(script: Script) -> Iterator[tuple[FakeApi, ConditionWriter]]:
    with FakeApi(script) as api:
        writer = ConditionWriter(
            api.client(), wall_clock=lambda: 0.0, backoff=Backoff(first=0.001, longest=0.001)
        )
        writer.start()
        try:
            yield api, writer
        finally:
            writer.close()


def patch_of(item: Pod, outcome: NotScheduled = OUTCOME) -> Any:
    with writing(ok) as (api, writer):
        writer.write(item, outcome)
        (seen,) = api.wait_for(lambda exchanges: len(exchanges) == 1)
        return seen.json


def test_the_condition_is_patched_into_the_status_of_that_very_pod() -> None:
    with writing(ok) as (api, writer):
        writer.write(pod(), OUTCOME)
        (seen,) = api.wait_for(lambda exchanges: len(exchanges) == 1)

    assert (seen.method, seen.path) == ("PATCH", "/api/v1/namespaces/shop/pods/web-1/status")
    assert seen.headers["content-type"] == "application/strategic-merge-patch+json"
    assert seen.json == {
        "metadata": {"uid": "uid-web-1"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available: 3 Insufficient cpu.",
                    "observedGeneration": 2,
                    "lastTransitionTime": "1970-01-01T00:00:00Z",
                }
            ]
        },
    }


def test_the_time_of_the_transition_stays_while_the_status_stays() -> None:
    (condition,) = patch_of(pod(**told(message="other")))["status"]["conditions"]

    assert "lastTransitionTime" not in condition


def test_a_nomination_is_written_with_it() -> None:
    outcome = NotScheduled(reason="Unschedulable", message="m", nominated_node="node-1")

    assert patch_of(pod(), outcome)["status"]["nominatedNodeName"] == "node-1"


def test_a_nomination_that_is_over_is_cleared() -> None:
    assert patch_of(pod(nominated="node-1"))["status"]["nominatedNodeName"] is None


@pytest.mark.parametrize(
    "changes",
    [{"reason": "SchedulerError"}, {"message": "other"}, {"status": "True"}, {"observedGeneration": 1}],
)
def test_any_difference_is_written(changes: dict[str, Any]) -> None:
    assert not OUTCOME.is_told_by(pod(**told(**changes)))


def test_what_the_pod_already_says_is_not_written() -> None:
    with writing(ok) as (api, writer):
        writer.write(pod("same", **told()), OUTCOME)
        writer.write(pod("other"), OUTCOME)
        api.wait_for(lambda exchanges: len(exchanges) == 1)

    assert [exchange.path for exchange in api.exchanges] == ["/api/v1/namespaces/shop/pods/other/status"]


def test_only_the_latest_is_written() -> None:
    held = Held()
    with writing(held) as (api, writer):
        writer.write(pod("first"), OUTCOME)
        assert held.arrived.wait(5)
        for number in range(5):
            writer.write(pod(), NotScheduled(reason="Unschedulable", message=f"message {number}"))
        held.released.set()
        _, seen = api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert seen.json["status"]["conditions"][0]["message"] == "message 4"


def test_a_dropped_pod_is_left_out() -> None:
    held = Held()
    with writing(held) as (api, writer):
        writer.write(pod("first"), OUTCOME)
        assert held.arrived.wait(5)
        writer.write(pod("dropped"), OUTCOME)
        writer.write(pod("last"), OUTCOME)
        writer.drop("uid-dropped")
        held.released.set()
        api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert "/last/" in api.exchanges[1].path


@pytest.mark.parametrize("trouble", [Exchange.cut, lambda exchange: exchange.refuse(500)])
def test_while_the_api_server_is_in_trouble_the_patch_is_tried_again(trouble: Script) -> None:
    with writing(in_order(trouble, trouble, ok)) as (api, writer):
        writer.write(pod(), OUTCOME)

        api.wait_for(lambda exchanges: len(exchanges) == 3)


@pytest.mark.parametrize("status", [404, 409])
def test_a_pod_that_is_gone_is_no_trouble(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with writing(in_order(lambda exchange: exchange.refuse(status), ok)) as (api, writer):
        writer.write(pod("gone"), OUTCOME)
        writer.write(pod("next"), OUTCOME)
        api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert "/next/" in api.exchanges[1].path
    assert caplog.records == []


def test_a_refusal_is_logged_and_the_next_pod_has_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    with writing(in_order(lambda exchange: exchange.refuse(403), ok)) as (api, writer):
        writer.write(pod("refused"), OUTCOME)
        writer.write(pod("next"), OUTCOME)
        api.wait_for(lambda exchanges: len(exchanges) == 2)

    assert "the condition of pod shop/refused can't be written" in caplog.text
    assert "RBAC" in caplog.text


def test_what_all_pods_are_refused_for_is_logged_once_until_it_is_mended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refused(exchange: Exchange) -> None:
        exchange.refuse(403)

    with writing(in_order(refused, refused, ok, refused, ok)) as (api, writer):
        for number in range(5):
            writer.write(pod(f"web-{number}"), OUTCOME)
        api.wait_for(lambda exchanges: len(exchanges) == 5)

    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [
        "shop/web-0",
        "shop/web-3",
    ]


def test_a_message_that_can_not_be_sent_does_not_keep_the_next_pod_waiting() -> None:
    with writing(ok) as (api, writer):
        writer.write(pod("odd"), NotScheduled(reason="Unschedulable", message="\ud800"))
        writer.write(pod("next"), OUTCOME)
        (seen,) = api.wait_for(lambda exchanges: len(exchanges) == 1)

    assert "/next/" in seen.path


def test_closing_ends_a_request_that_waits() -> None:
    with FakeApi(Exchange.hang) as api:
        writer = ConditionWriter(api.client())
        writer.start()
        writer.write(pod(), OUTCOME)
        api.wait_for(lambda exchanges: len(exchanges) == 1)
        closing = threading.Thread(target=writer.close)
        closing.start()
        closing.join(5)

        assert not closing.is_alive()
