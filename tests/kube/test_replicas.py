from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.errors import ApiError
from webhook.kube.replicas import Pod, ReplicaLease, ReplicaLeases, replica_name

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ENDS_AT = NOON + timedelta(days=7)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/ours/leases"


def lease(replica: str, *, prefix: str = "custom-scheduler-replica-", **spec: Any) -> dict[str, Any]:
    told = {"renewTime": "2026-11-30T12:00:00.000000Z", "leaseDurationSeconds": 60} | spec
    metadata = {"name": prefix + replica, "annotations": {"custom-scheduler.io/ca": "abc"}}
    return {"metadata": metadata, "spec": told}


def read(*leases: dict[str, Any], now: datetime = NOON) -> tuple[list[ReplicaLease], list[Exchange]]:
    def script(exchange: Exchange) -> None:
        exchange.reply(200, {"metadata": {}, "items": list(leases)} if exchange.method == "GET" else {})

    with FakeApi(script) as api:
        return ReplicaLeases(api.client(), namespace="ours").live(now), api.exchanges


def test_a_lease_is_patched_to_tell_the_ca_and_the_end() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        ReplicaLeases(api.client(), namespace="ours").hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT)

    (seen,) = api.exchanges
    assert (seen.method, seen.path) == ("PATCH", f"{LEASES}/custom-scheduler-replica-webhook-1")
    assert seen.json["metadata"]["annotations"] == {
        "custom-scheduler.io/ca": "abc",
        "custom-scheduler.io/next-ca": None,
    }
    assert seen.json["spec"] == {
        "holderIdentity": "webhook-1",
        "renewTime": "2026-11-30T12:00:00.000000Z",
        "leaseDurationSeconds": 7 * 86_400,
    }


def test_a_lease_that_is_not_there_is_made() -> None:
    with FakeApi(lambda ex: ex.refuse(404) if ex.method == "PATCH" else ex.reply(201, {})) as api:
        ReplicaLeases(api.client(), namespace="ours").hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT)

    patch, post = api.exchanges
    assert (post.method, post.path) == ("POST", LEASES)
    assert post.json["metadata"]["annotations"] == {"custom-scheduler.io/ca": "abc"}
    assert post.json["spec"] == patch.json["spec"]


def test_a_lease_belongs_to_the_pod_of_its_replica_and_goes_with_it() -> None:
    pod = Pod(name="webhook-1", uid="0b1c")
    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        leases = ReplicaLeases(api.client(), namespace="ours", pod=pod)
        leases.hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT)

    (seen,) = api.exchanges
    # As k8s.io/apimachinery pkg/apis/meta/v1 OwnerReference; without blockOwnerDeletion, which needs a right of its own.
    assert seen.json["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "webhook-1", "uid": "0b1c"}
    ]


def test_a_lease_belongs_to_nothing_where_no_pod_is_known() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        ReplicaLeases(api.client(), namespace="ours").hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT)

    (seen,) = api.exchanges
    assert seen.json["metadata"]["ownerReferences"] == []


def test_a_refusal_is_told() -> None:
    with FakeApi(lambda exchange: exchange.refuse(403)) as api, pytest.raises(ApiError):
        ReplicaLeases(api.client(), namespace="ours").hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT)


def test_what_a_replica_told_is_read_back() -> None:
    (told,), _ = read(lease("webhook-1"))

    assert told == ReplicaLease(
        replica="webhook-1", fingerprint="abc", renewed_at=NOON, ends_at=NOON + timedelta(seconds=60)
    )


def test_a_replica_that_moves_may_serve_either_ca() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        leases = ReplicaLeases(api.client(), namespace="ours")
        leases.hold("webhook-1", "abc", now=NOON, ends_at=ENDS_AT, following="def")
    (written,) = api.exchanges
    moving, staying = lease("webhook-1"), lease("webhook-2")
    moving["metadata"]["annotations"] = written.json["metadata"]["annotations"]

    told, _ = read(moving, staying)

    assert [each.fingerprints for each in told] == [{"abc", "def"}, {"abc"}]


def test_a_lease_that_has_ended_is_not_live_and_is_deleted() -> None:
    live, exchanges = read(
        lease("webhook-1"), lease("webhook-2", leaseDurationSeconds=61), now=NOON + timedelta(seconds=60)
    )

    assert [each.replica for each in live] == ["webhook-2"]
    assert [(each.method, each.path) for each in exchanges[1:]] == [
        ("DELETE", f"{LEASES}/custom-scheduler-replica-webhook-1")
    ]


@pytest.mark.parametrize(
    "spec", [{"renewTime": None}, {"renewTime": "soon"}, {"leaseDurationSeconds": None}], ids=str
)
def test_a_lease_that_does_not_say_when_it_ends_stays_live(spec: dict[str, Any]) -> None:
    live, _ = read(lease("webhook-1", **spec), now=NOON + timedelta(days=1000))

    assert [each.replica for each in live] == ["webhook-1"]


def test_leases_of_others_are_left_alone() -> None:
    foreign = lease("binder", prefix="custom-scheduler-", leaseDurationSeconds=1)
    unmarked = {"metadata": {"name": "custom-scheduler-replica-webhook-1"}, "spec": {}}

    live, exchanges = read(foreign, unmarked, now=NOON + timedelta(days=1))

    assert live == []
    assert len(exchanges) == 1


def test_a_lease_is_released_although_the_client_is_closed() -> None:
    with FakeApi(lambda exchange: exchange.reply(200, {})) as api:
        client = api.client()
        leases = ReplicaLeases(client, namespace="ours")
        client.close()

        leases.release("webhook-1")

    assert [(each.method, each.path) for each in api.exchanges] == [
        ("DELETE", f"{LEASES}/custom-scheduler-replica-webhook-1")
    ]


def test_a_release_that_is_refused_raises_nothing() -> None:
    with FakeApi(lambda exchange: exchange.refuse(500)) as api:
        ReplicaLeases(api.client(), namespace="ours").release("webhook-1")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("custom-scheduler-6d4b75cb6d-x2x9p", "custom-scheduler-6d4b75cb6d-x2x9p"),
        ("Node-1.Example.com", "node-1.example.com"),
        ("my_laptop", "my-laptop"),
        ("-.odd..name-", "odd.name"),
    ],
)
def test_a_hosts_name_becomes_one_that_a_lease_can_have(host: str, name: str) -> None:
    assert replica_name(host) == name
