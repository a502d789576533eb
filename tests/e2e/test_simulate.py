"""Simulations of a real cluster, beside what the scheduler then does there."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from devcluster.cluster import DevCluster
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import account, get, pod, scheduled_condition
from tests.program import custom_scheduler
from tests.waiting import eventually
from webhook.inspect.world import CREATION_KINDS
from webhook.scheduling.kinds import KINDS

API_GROUPS = ["", "apps", "storage.k8s.io", "scheduling.k8s.io"]


def simulated(*arguments: str | Path, stdin: str = "") -> dict[str, Any]:
    answer = custom_scheduler("simulate", *arguments, "-o", "json", stdin=stdin)
    assert answer.stderr == ""
    found: dict[str, Any] = json.loads(answer.stdout)
    assert answer.returncode == (0 if found["node"] else 1)
    return found


def ours(namespace: str, name: str, **spec: Any) -> str:
    return pod(namespace, name, labels={"custom": "web"}, schedulerName="custom-scheduler", **spec)


def placed(cluster: DevCluster, namespace: str, name: str) -> str:
    node: str = eventually(lambda: get(cluster, "pod", namespace, name)["spec"].get("nodeName"))
    return node


def best(found: dict[str, Any]) -> set[str]:
    totals = {node["name"]: node["total"] for node in found["nodes"] if node["feasible"]}
    return {name for name, total in totals.items() if total == max(totals.values())}


def test_the_scheduler_does_what_the_simulation_said(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    names = ["node-1", "node-4"]
    one_of = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [one_of]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    # Each makes the node that it comes to worse for the next.
    for number in range(4):
        manifest = ours(home, f"web-{number}", cpu="300m", affinity=affinity)
        found = simulated("--kubeconfig", cluster.kubeconfig, "-f", "-", stdin=manifest)
        cluster.kubectl("apply", "-f", "-", input=manifest)
        assert placed(cluster, home, f"web-{number}") in best(found)
        assert best(found) <= set(names)


def test_a_pending_pod_has_the_message_of_its_condition(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    cluster.kubectl("apply", "-f", "-", input=ours(home, "huge", cpu="1000"))
    condition = eventually(lambda: scheduled_condition(get(cluster, "pod", home, "huge")))

    found = simulated("--kubeconfig", cluster.kubeconfig, f"{home}/huge")

    assert found["node"] is None
    assert found["message"] == condition["message"]
    assert [node["reasons"] for node in found["nodes"]] == [["Insufficient cpu"]] * 6


def test_a_snapshot_gives_the_answer_of_the_cluster(
    cluster: DevCluster, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    home, file = namespace(), tmp_path / "snapshot.json"
    cluster.kubectl("apply", "-f", "-", input=ours(home, "web", cpu="300m"))
    placed(cluster, home, "web")

    on_cluster = simulated("--kubeconfig", cluster.kubeconfig, "--save-snapshot", file, f"{home}/web")
    on_snapshot = simulated("--snapshot", file, f"{home}/web")

    assert on_snapshot == on_cluster
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lists = json.loads(file.read_text())["items"]
    names = [*(kind.name for kind in KINDS), *(type_.__name__ for _, _, type_ in CREATION_KINDS)]
    assert [each["kind"] for each in lists] == [f"{name}List" for name in names]
    assert "managedFields" not in file.read_text()


def test_rights_to_list_are_enough_and_nothing_is_bound(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    resources = [*(kind.plural for kind in KINDS), *(plural for plural, _, _ in CREATION_KINDS)]
    reader = account(cluster, home, [{"apiGroups": API_GROUPS, "resources": resources, "verbs": ["list"]}])
    cluster.kubectl("apply", "-f", "-", input=pod(home, "web", schedulerName="nobodys"))

    def allowed() -> str | None:
        # The API server hears of new rights by a watch.
        answer = custom_scheduler("simulate", "--kubeconfig", reader, f"{home}/web")
        return answer.stdout if answer.returncode == 0 else None

    assert f"{home}/web would go to node-" in eventually(allowed)
    assert "nodeName" not in get(cluster, "pod", home, "web")["spec"]


def test_a_pod_gets_what_admission_in_the_cluster_would_add(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    limits = [{"type": "Container", "default": {"cpu": "900"}, "defaultRequest": {"cpu": "800"}}]
    cluster.kubectl(
        "apply",
        "-f",
        "-",
        input=json.dumps(
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "large", "namespace": home},
                "spec": {"limits": limits},
            }
        ),
    )
    manifest = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": home, "labels": {"custom": "web"}},
            "spec": {
                "schedulerName": "custom-scheduler",
                "priorityClassName": "system-node-critical",
                "containers": [{"name": "main", "image": "registry.example/main"}],
            },
        }
    )
    cluster.kubectl("apply", "-f", "-", input=manifest)
    condition = eventually(lambda: scheduled_condition(get(cluster, "pod", home, "web")))

    found = simulated("--kubeconfig", cluster.kubeconfig, "-f", "-", stdin=manifest)

    assert found["message"] == condition["message"]
    assert "Insufficient cpu" in found["message"]


def test_a_snapshot_is_saved_without_deciding_on_any_pod(cluster: DevCluster, tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"

    answer = custom_scheduler("simulate", "--kubeconfig", cluster.kubeconfig, "--save-snapshot", file)

    assert (answer.returncode, answer.stderr) == (0, "")
    assert str(file) in answer.stdout
    found = simulated("--snapshot", file, "-f", "-", stdin=ours("shop", "web", cpu="100m"))
    assert found["node"] is not None
