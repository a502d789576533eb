"""What the scheduler shows of itself on /metrics."""

from __future__ import annotations

from prometheus_client import REGISTRY

from tests.binder.scheduler import bound_to, pod, scheduling
from tests.binder.test_service import Cluster, service
from tests.kube.fakeapi import FakeApi
from tests.waiting import eventually
from webhook.scheduling.testing import make_node


def value(metric: str, /, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(metric, labels)


def waiting() -> dict[str, float | None]:
    queues = ("active", "backoff", "unschedulable", "gated")
    return {queue: value("scheduler_pending_pods", queue=queue) for queue in queues}


def rejected_by(plugin: str) -> float | None:
    return value("scheduler_unschedulable_pods", plugin=plugin, profile="custom-scheduler")


def test_a_pod_that_waits_counts_in_its_queue_and_for_each_plugin_that_rejected_it() -> None:
    with scheduling() as scheduler:
        scheduler.add(
            make_node("small", cpu="1"),
            pod("big", cpu="2"),
            pod("held", spec={"schedulingGates": [{"name": "x"}]}),
        )
        scheduler.settle()
        scheduler.pass_time(2)
        assert waiting() == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 1}
        assert rejected_by("NodeResourcesFit") == 1
        assert rejected_by("SchedulingGates") == 1

        scheduler.delete(pod("big", cpu="2"))
        scheduler.pass_time(2)
        assert waiting() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
        assert rejected_by("NodeResourcesFit") == 0


def test_nothing_waits_for_a_replica_that_does_not_lead() -> None:
    with scheduling(leading=False) as scheduler:
        scheduler.is_leader = False
        scheduler.add(pod("elsewhere"))
        scheduler.pass_time(2)
        assert waiting() == dict.fromkeys(waiting(), 0)

        scheduler.is_leader = True
        scheduler.pass_time(2)
        assert waiting()["active"] == 1


def cache_size() -> dict[str, float | None]:
    kinds = ("nodes", "pods", "assumed_pods")
    return {kind: value("scheduler_cache_size", type=kind) for kind in kinds}


def test_a_pod_is_in_the_cache_from_its_decision_on_and_assumed_until_the_watch_shows_its_node() -> None:
    ours = pod("ours")
    with scheduling() as scheduler:
        scheduler.add(make_node("n"), pod("there", node="n"), ours)
        scheduler.expect_bindings("ours on n")
        scheduler.pass_time(2)
        assert cache_size() == {"nodes": 1, "pods": 2, "assumed_pods": 1}

        scheduler.change(ours, bound_to(ours, "n"))
        scheduler.pass_time(2)
        assert cache_size() == {"nodes": 1, "pods": 2, "assumed_pods": 0}

        scheduler.delete(bound_to(ours, "n"))
        scheduler.pass_time(2)
        assert cache_size() == {"nodes": 1, "pods": 1, "assumed_pods": 0}


def test_the_leader_says_so_until_it_stops() -> None:
    def status() -> float | None:
        return value("leader_election_master_status", name="custom-scheduler")

    cluster = Cluster()
    cluster.away = True
    with FakeApi(cluster) as api:
        with service(api):
            assert status() == 0
            cluster.away = False
            eventually(lambda: status() == 1)
        assert status() == 0
