"""The audit's grouping and counting, on lists that a scripted API server gives; tests/e2e has the real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.errors import ClusterError, ConfigurationError
from webhook.inspect.audit import AuditReport, audit
from webhook.inspect.cluster import policy_in_force
from webhook.kube.transport import KubeClient
from webhook.policy.model import Exempt, Policy

Json = dict[str, Any]

POLICY = Policy(name="default")
LABELLED = {"custom": "web"}


class Cluster:
    """What the API server holds, by path."""

    def __init__(self, **namespaces: dict[str, str]) -> None:
        self.lists: dict[str, list[Json]] = {
            "/api/v1/namespaces": [
                {"metadata": {"name": name, "labels": labels}} for name, labels in namespaces.items()
            ]
        }

    def add(self, resource: str, *items: Json) -> None:
        prefix = {"pods": "/api/v1", "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1"}.get(
            resource, "/apis/apps/v1"
        )
        self.lists.setdefault(f"{prefix}/{resource}", []).extend(items)

    def __call__(self, exchange: Exchange) -> None:
        """Answer a list with pages of two."""
        items = self.lists.get(exchange.path, [])
        start = int(exchange.query.get("continue", "0"))
        more = str(start + 2) if start + 2 < len(items) else ""
        exchange.reply(200, {"metadata": {"continue": more}, "items": items[start : start + 2]})


def meta(name: str, *, namespace: str = "a", owner: tuple[str, str] | None = None, **others: Any) -> Json:
    references = (
        [{"kind": owner[0], "name": owner[1], "uid": f"uid-{owner[1]}", "controller": True}]
        if owner
        else None
    )
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "ownerReferences": references,
        **others,
    }


def pod(name: str, *, labels: dict[str, str] | None = None, phase: str = "Running", **metadata: Any) -> Json:
    return {
        "metadata": meta(name, labels=labels, **metadata),
        "spec": {"containers": [], "nodeName": "n1"},
        "status": {"phase": phase},
    }


def workload(
    name: str,
    labels: dict[str, str] | None = None,
    *,
    replicas: int | None = 1,
    status: Json | None = None,
    **metadata: Any,
) -> Json:
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    spec = {"template": template, "replicas": replicas}
    return {"metadata": meta(name, **metadata), "spec": spec, "status": status or {}}


@contextmanager
def serving(script: Any) -> Iterator[KubeClient]:
    with FakeApi(script) as api:
        yield api.client()


def audited(cluster: Cluster, policy: Policy = POLICY, *, limit: int = 100) -> AuditReport:
    with serving(cluster) as client:
        return audit(client, policy, namespaces=(), limit=limit, tell=lambda _: None)


def denied(cluster: Cluster) -> list[tuple[str, str, int]]:
    return [(owner.kind, owner.name, owner.pods) for owner in audited(cluster).denied]


def test_pods_count_for_the_deployment_over_their_replica_set() -> None:
    cluster = Cluster(a={})
    cluster.add("deployments", workload("shop"))
    cluster.add("replicasets", workload("shop-1", owner=("Deployment", "shop")))
    cluster.add("pods", *[pod(f"shop-1-{number}", owner=("ReplicaSet", "shop-1")) for number in range(5)])

    assert denied(cluster) == [("Deployment", "shop", 5)]


def test_a_deployment_that_is_scaled_to_nothing_is_told_too() -> None:
    cluster = Cluster(a={})
    cluster.add("deployments", workload("shop", replicas=0))

    assert denied(cluster) == [("Deployment", "shop", 0)]


def test_the_template_decides_and_not_what_came_of_it() -> None:
    cluster = Cluster(a={})
    cluster.add("statefulsets", workload("db", LABELLED), workload("queue"))
    cluster.add("pods", pod("db-0", owner=("StatefulSet", "db")))
    cluster.add("pods", pod("queue-0", labels=LABELLED, owner=("StatefulSet", "queue")))

    assert denied(cluster) == [("StatefulSet", "queue", 1)]


def test_an_owner_that_only_its_operator_knows_is_judged_by_its_replica_sets() -> None:
    cluster = Cluster(a={})
    owner = ("Rollout", "shop")
    cluster.add(
        "replicasets", workload("shop-old", replicas=0, owner=owner), workload("shop-new", owner=owner)
    )
    cluster.add("pods", pod("shop-new-1", owner=("ReplicaSet", "shop-new")))

    assert denied(cluster) == [("Rollout", "shop", 1)]


def test_an_owner_without_any_template_is_judged_by_its_pods() -> None:
    cluster = Cluster(a={})
    for name, labels in (("flow-1", LABELLED), ("flow-2", None), ("flow-3", LABELLED)):
        cluster.add("pods", pod(name, labels=labels, owner=("Workflow", "flow")))
    cluster.add("pods", pod("alone"), pod("fine", labels=LABELLED))

    assert denied(cluster) == [("Workflow", "flow", 3), ("Pod", "alone", 1)]


@pytest.mark.parametrize(
    ("resource", "item"),
    [
        ("pods", pod("done", phase="Succeeded")),
        ("pods", pod("failed", phase="Failed")),
        ("pods", pod("going", deletionTimestamp="2026-01-31T10:00:00Z")),
        ("pods", pod("static", annotations={"kubernetes.io/config.mirror": "x"})),
        ("replicasets", workload("old", replicas=0)),
        (
            "jobs",
            workload("over", replicas=None, status={"conditions": [{"type": "Complete", "status": "True"}]}),
        ),
        ("deployments", workload("going", deletionTimestamp="2026-01-31T10:00:00Z")),
    ],
)
def test_what_makes_no_more_pods_is_passed_over(resource: str, item: Json) -> None:
    cluster = Cluster(a={})
    cluster.add(resource, item)

    assert denied(cluster) == []


def test_a_job_belongs_to_its_cron_job_and_else_to_itself() -> None:
    cluster = Cluster(a={})
    nightly = workload("nightly")
    nightly["spec"] = {"jobTemplate": {"spec": nightly["spec"]}}
    cluster.add("cronjobs", nightly)
    cluster.add(
        "jobs",
        workload("nightly-1", replicas=None, owner=("CronJob", "nightly")),
        workload("once", replicas=None),
    )
    cluster.add("pods", pod("nightly-1-x", owner=("Job", "nightly-1")))

    assert denied(cluster) == [("CronJob", "nightly", 1), ("Job", "once", 0)]


def test_namespaces_are_counted_by_their_labels_and_exempt_ones_named() -> None:
    cluster = Cluster(
        a={"custom-scheduler.io/enforce": "deny"},
        b={"custom-scheduler.io/enforce": "warn"},
        c={"custom-scheduler.io/enforce": "sometimes"},
        spared={},
    )
    cluster.add("pods", pod("p"), pod("q", namespace="b", labels=LABELLED), pod("r", namespace="spared"))

    report = audited(cluster, Policy(name="default", exempt=Exempt(namespaces=frozenset({"spared"}))))

    assert report.exempt == ["spared"]
    assert [(tally.name, tally.enforce, tally.pods, tally.denied_pods) for tally in report.namespaces] == [
        ("a", "deny", 1, 1),
        ("b", "warn", 1, 0),
        ("c", None, 0, 0),
    ]


def test_at_most_the_limit_is_told_and_the_rest_counted() -> None:
    cluster = Cluster(a={}, b={})
    cluster.add("deployments", *[workload(f"d{number}", namespace="b") for number in range(3)])
    cluster.add("pods", *[pod(f"p{number}") for number in range(7)])

    report = audited(cluster, limit=4)

    assert [owner.name for owner in report.denied] == ["p0", "p1", "p2", "p3"]
    assert report.left_out == 6
    assert [tally.denied_owners for tally in report.namespaces] == [7, 3]


def test_a_namespace_that_appears_during_the_audit_is_left_out() -> None:
    cluster = Cluster(a={})
    cluster.add("pods", pod("late", namespace="new"))
    cluster.add("replicasets", workload("late", namespace="new"))
    cluster.add("deployments", workload("late", namespace="new"))

    assert denied(cluster) == []


@pytest.mark.parametrize("name", ["", "a/status", "kube-system/pods", "a?limit=1", "a%2f", "A"])
def test_what_is_no_name_of_a_namespace_is_no_path_and_no_pass(name: str) -> None:
    with (
        serving(Cluster(a={})) as client,
        pytest.raises(ConfigurationError, match="expected a namespace's name"),
    ):
        audit(client, POLICY, namespaces=(name,), limit=1, tell=lambda _: None)


def test_a_list_that_grew_too_old_says_what_to_do() -> None:
    def script(exchange: Exchange) -> None:
        if exchange.path == "/api/v1/namespaces":
            exchange.reply(200, {"metadata": {}, "items": []})
        elif "continue" in exchange.query:
            exchange.refuse(410, "the provided continue parameter is too old", "Expired")
        else:
            exchange.reply(200, {"metadata": {"continue": "next"}, "items": []})

    with serving(script) as client, pytest.raises(ClusterError, match="audit again, or fewer namespaces"):
        audit(client, POLICY, namespaces=(), limit=1, tell=lambda _: None)


def test_a_config_map_without_a_policy_is_told() -> None:
    with (
        serving(lambda exchange: exchange.reply(200, {"data": {"other.yaml": ""}})) as client,
        pytest.raises(
            ConfigurationError, match=r"ConfigMap ours/custom-scheduler-policy: has no policy.yaml"
        ),
    ):
        policy_in_force(client, "ours")
