"""An audit of what runs in a real cluster, as an admin does it on the way to enforcement."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import account, deployment, get, pod
from tests.program import custom_scheduler
from tests.waiting import eventually

RULES = [
    {
        "apiGroups": [""],
        "resources": ["namespaces", "pods", "replicationcontrollers"],
        "verbs": ["get", "list"],
    },
    {
        "apiGroups": ["apps"],
        "resources": ["deployments", "replicasets", "statefulsets", "daemonsets"],
        "verbs": ["list"],
    },
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["custom-scheduler-policy"],
        "verbs": ["get"],
    },
]


def audit(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return custom_scheduler("audit", "--kubeconfig", kubeconfig, *arguments)


def audited(cluster: DevCluster, *arguments: str) -> dict[str, Any]:
    answer = audit(cluster.kubeconfig, "-o", "json", *arguments)
    assert answer.stderr == ""
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def run_shop(cluster: DevCluster, home: str, *, replicas: int, template_labels: dict[str, str]) -> None:
    cluster.kubectl("apply", "-f", "-", input=deployment(home, "shop", template_labels=template_labels))
    cluster.kubectl("scale", "deployment", "shop", "-n", home, f"--replicas={replicas}")
    eventually(lambda: get(cluster, "deployment", home, "shop")["status"].get("replicas") == replicas)


def test_a_deployment_is_told_once_for_all_pods_of_its_replicasets(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    run_shop(cluster, home, replicas=3, template_labels={})

    answer = audit(cluster.kubeconfig, home)

    assert answer.returncode == 1
    assert f"{home}: Deployment shop (3 pods): Pod must have custom label: spec.template" in answer.stdout
    assert "ReplicaSet" not in answer.stdout
    assert answer.stderr == ""


def test_pods_without_an_owner_are_told_by_their_own_names_and_finished_ones_are_not(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    for name in ("bare", "done"):
        cluster.kubectl("apply", "-f", "-", input=pod(home, name))
    cluster.request(
        "PATCH", f"/api/v1/namespaces/{home}/pods/done/status", {"status": {"phase": "Succeeded"}}
    )

    found = audited(cluster, home)

    assert [(owner["kind"], owner["name"], owner["pods"]) for owner in found["denied"]] == [
        ("Pod", "bare", 1)
    ]


def test_a_namespace_where_nothing_would_be_denied_is_the_next_step(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="warn")
    run_shop(cluster, home, replicas=1, template_labels={"custom": "web"})

    answer = audit(cluster.kubeconfig, home)

    assert answer.returncode == 0
    assert f"Nothing would be denied in: {home}\n" in answer.stdout
    assert f"kubectl label namespace {home} custom-scheduler.io/enforce=deny" in answer.stdout


def test_what_is_denied_now_and_what_would_be_are_told_apart(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    denying, warning, silent = namespace(), namespace(enforce="warn"), namespace()
    for home in (denying, warning, silent):
        cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"))
    cluster.kubectl("label", "namespace", denying, "custom-scheduler.io/enforce=deny")

    found = audited(cluster, denying, warning, silent)

    assert {(owner["namespace"], owner["enforce"]) for owner in found["denied"]} == {
        (denying, "deny"),
        (warning, "warn"),
        (silent, None),
    }


def test_a_policy_that_is_not_in_force_can_be_tried(
    cluster: DevCluster, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    home = namespace()
    cluster.kubectl("apply", "-f", "-", input=pod(home, "web", labels={"custom": "web"}))
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text(
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: stricter}\n"
        "spec: {requiredLabels: [{key: custom, allowedValues: [batch]}]}\n"
    )

    now = audited(cluster, home)
    then = audited(cluster, home, "--policy", str(stricter))

    assert now["denied"] == []
    assert now["policy"]["source"] == "ConfigMap custom-scheduler/custom-scheduler-policy"
    assert "Allowed: batch" in then["denied"][0]["message"]


def test_a_pod_that_runs_on_its_node_is_judged_as_it_will_be_created_anew(
    cluster: DevCluster, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    home = namespace(opt_in="true")
    strict = tmp_path / "strict.yaml"
    strict.write_text(
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: strict}\n"
        "spec: {placement: {verify: Deny}}\n"
    )
    cluster.kubectl("apply", "-f", "-", input=pod(home, "web", labels={"custom": "web"}, nodeName="node-1"))

    found = audited(cluster, home, "--policy", str(strict))

    assert found["denied"] == []
    assert found["namespaces"][0]["pods"] == 1


def test_what_is_left_out_is_counted(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace()
    for number in range(5):
        cluster.kubectl("apply", "-f", "-", input=pod(home, f"bare-{number}"))

    answer = audit(cluster.kubeconfig, home, "--limit", "2")

    assert answer.stdout.count("Pod must have custom label") == 2
    assert "and 3 more owners" in answer.stdout
    assert "5 owners with 5 pods would be denied" in answer.stdout


def test_the_whole_cluster_is_looked_at_but_for_what_the_policy_exempts(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"))

    found = audited(cluster)

    assert {"kube-system", "custom-scheduler"} <= set(found["exempt"])
    assert home in {tally["name"] for tally in found["namespaces"]}


def test_read_rights_are_enough(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace()
    cluster.kubectl("apply", "-f", "-", input=pod(home, "web", labels={"custom": "web"}))
    cronjobs = {"apiGroups": ["batch"], "resources": ["cronjobs"], "verbs": ["list"]}
    auditor = account(cluster, home, [*RULES, cronjobs])

    def allowed() -> str | None:
        # The API server hears of new rights by a watch.
        answer = audit(auditor, home)
        return answer.stdout if answer.returncode == 0 else None

    assert "Nothing would be denied" in eventually(allowed)


def test_a_right_that_is_missing_is_named(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace()
    auditor = account(cluster, home, RULES)

    def refused() -> str | None:
        answer = audit(auditor, home)
        return answer.stderr if "cronjobs" in answer.stderr else None

    told = eventually(refused)

    assert 'cannot list resource "cronjobs" in API group "batch"' in told
    assert told.count("\n") == 1


@pytest.mark.usefixtures("installation")
def test_a_namespace_that_is_not_there_is_named(cluster: DevCluster) -> None:
    answer = audit(cluster.kubeconfig, "nowhere")

    assert answer.returncode == 2
    assert "namespace nowhere: not found" in answer.stderr


def test_without_the_config_map_the_way_to_name_a_policy_is_told(
    cluster: DevCluster, installation: Installation
) -> None:
    answer = audit(installation.cluster.kubeconfig, "--namespace", "default")

    assert answer.returncode == 2
    assert "ConfigMap default/custom-scheduler-policy: not found; give --policy FILE" in answer.stderr
