"""Three hundred pods of all kinds through the scheduler at once, on nodes that can't take them all."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from devcluster.nodes import Taint
from tests.e2e.objects import scheduled_condition
from tests.e2e.placements import audit_flags, bindings, items, wrong_placements
from tests.placement_rules import Json
from tests.waiting import eventually

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def crowded(audit_log: Path) -> Iterator[DevCluster]:
    """Twenty nodes in four zones, each with room for a few pods; two are tainted."""
    with DevCluster(scheduler=False, apiserver_flags=audit_flags(audit_log)) as cluster:
        for number in range(20):
            cluster.add_node(
                f"node-{number}",
                labels={ZONE: f"zone-{number % 4}", "disk": "ssd" if number % 3 else "hdd"},
                taints=[Taint(key="dedicated")] if number >= 18 else [],
                capacity={"cpu": "2", "pods": "20"},
            )
        with Installation(cluster):
            yield cluster


def pod(number: int) -> Json:
    """Return one of ten kinds of pods, in turn."""
    kind = number % 10
    app = ("plain", "plain", "plain", "ssd", "port", "lone", "even", "near", "gated", "batch")[kind]
    same_app = {"labelSelector": {"matchLabels": {"app": app}}}
    container: Json = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "160m"}}}
    spec: Json = {"schedulerName": "custom-scheduler", "containers": [container]}
    match app:
        case "ssd":
            spec["nodeSelector"] = {"disk": "ssd"}
        case "port":
            container["ports"] = [{"containerPort": 80, "hostPort": 8000 + number // 10 % 2}]
        case "lone":
            spec["affinity"] = _near("podAntiAffinity", {**same_app, "topologyKey": HOST})
        case "near":
            spec["affinity"] = _near("podAffinity", {**same_app, "topologyKey": ZONE})
        case "even":
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**constraint, **same_app}]
        case "gated":
            spec["schedulingGates"] = [{"name": "example.com/hold"}]
        case "batch":
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    metadata = {"name": f"{app}-{number}", "namespace": "default", "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _near(kind: str, term: Json) -> Json:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def is_decided(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName") or scheduled_condition(pod))


def all_decided(cluster: DevCluster, number: int) -> list[Json] | None:
    pods = items(cluster, PODS)
    return pods if len(pods) == number and all(map(is_decided, pods)) else None


def test_nothing_is_placed_wrongly_while_pods_come_go_and_wait(crowded: DevCluster, audit_log: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made: list[Any] = list(pool.map(partial(crowded.request, "POST", PODS), map(pod, range(300))))
        gated = [each["metadata"]["name"] for each in made if each["spec"].get("schedulingGates")]
        plain = [each["metadata"]["name"] for each in made if each["metadata"]["labels"]["app"] == "plain"]
        ungate = partial(crowded.request, "PATCH", body={"spec": {"schedulingGates": None}})
        delete = partial(crowded.request, "DELETE", body={"gracePeriodSeconds": 0})
        changes = [pool.submit(ungate, f"{PODS}/{name}") for name in gated[::2]]
        changes += [pool.submit(delete, f"{PODS}/{name}") for name in plain[::3]]
        for change in changes:
            change.result()

    pods = eventually(
        partial(all_decided, crowded, 300 - len(plain[::3])), "every pod has a node or a reason", seconds=90
    )

    bound = bindings(audit_log)
    placed = [each for each in pods if each["spec"].get("nodeName")]
    assert wrong_placements(crowded, bindings=bound) == []
    assert {each["metadata"]["uid"] for each in placed} <= {binding.uid for binding in bound}
    # Some of each kind found a place, and some had to wait.
    assert len({each["metadata"]["labels"]["app"] for each in placed}) == 8
    assert 150 < len(placed) < len(pods)
    waiting = {each["metadata"]["labels"]["app"] for each in pods if not each["spec"].get("nodeName")}
    assert {"lone", "gated"} <= waiting
