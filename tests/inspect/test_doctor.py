"""`doctor` on installations that are no more than objects: each ailment is named, and nothing else is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

import pytest

from tests.inspect.ailments import AILMENTS
from tests.inspect.installed import (
    BINDER_LEASE,
    CONFIGURATIONS,
    NAMESPACE,
    Json,
    collection_of,
    healthy,
    path_of,
    statuses,
)
from tests.inspect.planting import Ailment, assert_told
from tests.kube.fakeapi import Exchange, FakeApi
from tests.manifests.test_manifests import entries, path_called
from webhook.errors import Unreachable
from webhook.inspect.doctor import examine
from webhook.inspect.finding import Finding
from webhook.inspect.reachability import PATHS

ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1"


NAME = "kubernetes.io/metadata.name"
KUBE_SYSTEM: Json = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "kube-system", "labels": {NAME: "kube-system"}},
}


class Cluster:
    """As much of an API server as doctor reads: objects by path, and who may do what by the bindings there are."""

    def __init__(self, items: Iterable[Json]) -> None:
        self.items = {path_of(item): item for item in [*items, KUBE_SYSTEM]}
        for path, status in statuses():
            self.items[path]["status"] = status
        for item in self.items.values():
            if item["kind"] == "Namespace":  # as the API server does it
                item["metadata"].setdefault("labels", {})[NAME] = item["metadata"]["name"]
        self.is_open = True

    def change(self, path: str, edit: Callable[[Json], None]) -> None:
        edit(self.items[path])

    def delete(self, path: str) -> None:
        del self.items[path]

    def __call__(self, exchange: Exchange) -> None:
        if not self.is_open:
            exchange.refuse(403, "forbidden")
        elif exchange.method == "POST":
            exchange.reply(201, {"status": {"allowed": self._may(exchange.json["spec"])}})
        elif exchange.path in self.items:
            exchange.reply(200, self.items[exchange.path])
        elif exchange.path.rsplit("/", 1)[1] in (
            "namespaces",
            "endpointslices",
            "poddisruptionbudgets",
            "leases",
        ):
            exchange.reply(200, {"items": self._listed(exchange)})
        else:
            exchange.refuse(404, "not found")

    def _listed(self, exchange: Exchange) -> list[Json]:
        key, _, value = exchange.query.get("labelSelector", "").partition("=")
        return [
            item
            for item in self.items.values()
            if collection_of(item) == exchange.path
            and (
                not key
                or item["metadata"].get("labels", {}).get(key, "") in ([value] if value else [*_VALUES])
            )
        ]

    def _may(self, spec: Json) -> bool:
        account = spec["user"].rpartition(":")[2]
        if spec["resourceAttributes"]["namespace"]:
            return f"{ROLE_BINDINGS}/namespaces/{NAMESPACE}/rolebindings/{account}" in self.items
        return f"{ROLE_BINDINGS}/clusterrolebindings/{account}" in self.items


_VALUES = ("deny", "warn", "Deny", "true", "false", "yes")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(healthy())


def found(cluster: Cluster) -> list[Finding]:
    with FakeApi(cluster) as api:
        return list(examine(api.client(), NAMESPACE))


def test_all_is_well_where_nothing_is_wrong(cluster: Cluster) -> None:
    findings = found(cluster)

    assert [each for each in findings if each.level != "ok"] == []
    assert {each.subject for each in findings} == {
        "registration",
        "failurePolicy",
        "selection",
        "endpoints",
        "replicas",
        "disruptions",
        "CA",
        "caBundle",
        "served",
        "policy",
        "permissions",
        "binder",
        "enforcement",
    }


def test_of_what_is_not_there_nothing_good_is_told(cluster: Cluster) -> None:
    cluster.items = {path: item for path, item in cluster.items.items() if item["kind"] == "Namespace"}

    findings = found(cluster)

    assert {each.subject for each in findings if each.level == "ok"} == {"enforcement"}
    assert {each.subject for each in findings if each.level == "fail"} == {"registration", "policy", "binder"}


@pytest.mark.parametrize("serving_files", [False, True])
def test_without_entries_nothing_is_said_of_what_they_hold(cluster: Cluster, serving_files: bool) -> None:
    for path in CONFIGURATIONS.values():
        cluster.delete(path)
    if serving_files:
        serve_files(cluster)

    assert {"caBundle", "failurePolicy"}.isdisjoint(each.subject for each in found(cluster))


@pytest.mark.parametrize("ailment", AILMENTS, ids=lambda ailment: ailment.name)
def test_an_ailment_is_named_with_what_mends_it(cluster: Cluster, ailment: Ailment) -> None:
    ailment.plant(cluster)
    findings = found(cluster)

    assert_told(ailment, findings)


def test_what_may_not_be_read_is_told_piece_by_piece(cluster: Cluster) -> None:
    cluster.is_open = False

    findings = found(cluster)

    assert all(each.level == "fail" and "can't be looked at" in each.text for each in findings)
    assert len({each.subject for each in findings}) == 9


def test_an_api_server_that_is_away_is_no_finding() -> None:
    with FakeApi(Exchange.cut) as api, pytest.raises(Unreachable):
        list(examine(api.client(), NAMESPACE))


def test_a_budget_that_is_used_up_by_a_restart_is_no_ailment(cluster: Cluster) -> None:
    base = f"namespaces/{NAMESPACE}"
    cluster.items[f"/apis/policy/v1/{base}/poddisruptionbudgets/custom-scheduler"]["status"][
        "disruptionsAllowed"
    ] = 0
    cluster.items[f"/apis/apps/v1/{base}/deployments/custom-scheduler"]["status"]["readyReplicas"] = 1

    assert [each.subject for each in found(cluster) if each.level != "ok"] == ["replicas"]


def test_two_budgets_for_the_same_pods_block_every_eviction(cluster: Cluster) -> None:
    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/custom-scheduler"
    second = copy.deepcopy(cluster.items[path])
    second["metadata"]["name"] = "second"
    cluster.items[path_of(second)] = second

    (told,) = (each for each in found(cluster) if each.level != "ok")

    assert (told.level, told.subject) == ("fail", "disruptions")
    assert told.text.startswith("custom-scheduler, second cover the same pods")


def test_a_lease_until_after_the_end_of_time_is_held(cluster: Cluster) -> None:
    cluster.items[BINDER_LEASE]["spec"] |= {
        "renewTime": "9999-12-31T00:00:00.000000Z",
        "leaseDurationSeconds": 2**31 - 1,
    }

    assert [each for each in found(cluster) if each.level != "ok"] == []


def test_without_a_deployment_of_its_own_a_binder_is_not_missed(cluster: Cluster) -> None:
    cluster.delete(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/custom-scheduler-binder")

    assert [each for each in found(cluster) if each.level != "ok"] == []


def test_a_webhook_that_is_called_by_url_needs_no_service_and_no_deployment(cluster: Cluster) -> None:
    for item in list(cluster.items.values()):
        for entry in item.get("webhooks", []):
            config = entry["clientConfig"]
            config["url"] = f"https://localhost:8443{config.pop('service')['path']}"
    for path in list(cluster.items):
        if path.endswith(("/services/custom-scheduler", "/deployments/custom-scheduler")):
            cluster.delete(path)

    assert [each for each in found(cluster) if each.level != "ok"] == []


def serve_files(cluster: Cluster) -> None:
    """Do what the component cert-manager does: other options, and no right left."""
    deployment = cluster.items[f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/custom-scheduler"]
    deployment["spec"]["template"]["spec"]["containers"][0]["args"].append("--cert-mode=files")
    cluster.delete(f"{ROLE_BINDINGS}/namespaces/{NAMESPACE}/rolebindings/custom-scheduler")
    cluster.delete(f"{ROLE_BINDINGS}/clusterrolebindings/custom-scheduler")


def test_a_webhook_that_serves_files_needs_no_right_and_no_ca_of_ours(cluster: Cluster) -> None:
    serve_files(cluster)
    cluster.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/custom-scheduler-ca")

    findings = found(cluster)

    assert [each for each in findings if each.level != "ok"] == []
    (bundle,) = (each for each in findings if each.subject == "caBundle")
    assert bundle.text.startswith("is set by others (files mode), and not compared with what is served, ")


def test_a_webhook_that_serves_files_needs_a_ca_in_every_entry(cluster: Cluster) -> None:
    serve_files(cluster)
    del cluster.items[CONFIGURATIONS["mutating"]]["webhooks"][0]["clientConfig"]["caBundle"]

    (told,) = (each for each in found(cluster) if each.level != "ok")

    assert (told.level, told.subject) == ("fail", "caBundle")
    assert told.text.startswith("is empty in mutate.pods.custom-scheduler.io, ")
    assert "let cert-manager inject it" in told.fix


def test_a_replica_whose_lease_has_ended_may_have_served_any_ca(cluster: Cluster) -> None:
    lease = cluster.items[
        f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/custom-scheduler-replica-a"
    ]
    lease["metadata"]["annotations"]["custom-scheduler.io/ca"] = "f" * 64
    lease["spec"]["leaseDurationSeconds"] = 1
    lease["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"

    assert [each for each in found(cluster) if each.level != "ok"] == []


def test_the_manifests_call_each_entry_at_the_path_that_doctor_expects() -> None:
    assert {entry["name"]: path_called(entry) for entry in entries("base")} == PATHS
