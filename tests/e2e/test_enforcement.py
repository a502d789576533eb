"""A pod without the label, and what its developer sees on `kubectl apply`."""

from __future__ import annotations

from devcluster.cluster import DevCluster
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import deployment, get, pod
from tests.waiting import eventually

MESSAGE = "Pod must have custom label"


def test_a_pod_without_the_label_is_denied_on_apply(cluster: DevCluster, namespace: NamespaceFactory) -> None:
    home = namespace(enforce="deny")

    answer = cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"), check=False)

    assert answer.returncode == 1
    assert f'admission webhook "deny.pods.custom-scheduler.io" denied the request: {MESSAGE}' in answer.stderr
    assert "metadata.labels" in answer.stderr
    assert not cluster.kubectl("get", "pods", "-n", home, "-o", "name").stdout


def test_a_pod_with_the_label_is_created_without_a_word(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")

    answer = cluster.kubectl("apply", "-f", "-", input=pod(home, "labelled", labels={"custom": "web"}))

    assert answer.stdout == "pod/labelled created\n"
    assert answer.stderr == ""


def test_a_namespace_that_warns_creates_the_pod_with_a_warning(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="warn")

    answer = cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"))

    assert answer.stdout == "pod/bare created\n"
    assert f"Warning: {MESSAGE}" in answer.stderr


def test_a_namespace_that_asked_for_nothing_gets_nothing(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()

    answer = cluster.kubectl("apply", "-f", "-", input=pod(home, "bare"))

    assert (answer.stdout, answer.stderr) == ("pod/bare created\n", "")


def test_taking_the_label_away_is_denied_and_other_edits_are_not(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")
    cluster.kubectl("apply", "-f", "-", input=pod(home, "kept", labels={"custom": "web"}))

    removal = cluster.kubectl("label", "pod", "kept", "custom-", "-n", home, check=False)
    other = cluster.kubectl("label", "pod", "kept", "team=a", "-n", home)

    assert removal.returncode == 1
    assert MESSAGE in removal.stderr
    assert other.returncode == 0


def test_a_pod_from_before_enforcement_can_still_be_edited_and_deleted(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace()
    cluster.kubectl("apply", "-f", "-", input=pod(home, "old"))
    cluster.kubectl("label", "namespace", home, "custom-scheduler.io/enforce=deny")

    cluster.kubectl("annotate", "pod", "old", "-n", home, "note=kept")
    cluster.kubectl("delete", "pod", "old", "-n", home, "--grace-period=0", "--force")

    assert not cluster.kubectl("get", "pods", "-n", home, "-o", "name").stdout


def test_a_deployment_without_the_label_in_its_template_warns_where_its_developer_looks(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")

    answer = cluster.kubectl("apply", "-f", "-", input=deployment(home, "shop", template_labels={}))

    assert answer.stdout == "deployment.apps/shop created\n"
    assert "Warning: " in answer.stderr
    assert "spec.template.metadata.labels" in answer.stderr


def test_the_pods_of_such_a_deployment_are_denied_in_the_replicasets_events(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")
    cluster.kubectl("apply", "-f", "-", input=deployment(home, "shop", template_labels={}))

    def denial() -> str:
        template = "jsonpath={.items[?(@.reason=='FailedCreate')].message}"
        return cluster.kubectl("get", "events", "-n", home, "-o", template).stdout

    assert MESSAGE in eventually(denial)


def test_pods_of_a_deployment_with_the_label_run_and_scale(
    cluster: DevCluster, namespace: NamespaceFactory
) -> None:
    home = namespace(enforce="deny")
    answer = cluster.kubectl(
        "apply", "-f", "-", input=deployment(home, "shop", template_labels={"custom": "web"})
    )
    cluster.kubectl("scale", "deployment", "shop", "-n", home, "--replicas=3")

    def replicas() -> bool:
        return bool(get(cluster, "deployment", home, "shop")["status"].get("replicas") == 3)

    assert answer.stderr == ""
    assert eventually(replicas)
