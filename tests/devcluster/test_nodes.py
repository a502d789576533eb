from __future__ import annotations

from devcluster.nodes import Taint, node_manifest


def test_a_node_is_ready_and_offers_all_it_has() -> None:
    node = node_manifest("node-1")

    assert {"type": "Ready", "status": "True", "reason": "DevCluster"} in node["status"]["conditions"]
    assert node["status"]["allocatable"] == node["status"]["capacity"]
    assert node["status"]["capacity"]["cpu"] == "4"


def test_a_node_has_the_labels_of_a_kubelet_and_those_asked_for() -> None:
    node = node_manifest("node-1", labels={"custom": "yes"})

    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert node["metadata"]["labels"]["custom"] == "yes"


def test_capacity_changes_only_what_it_names() -> None:
    node = node_manifest("node-1", capacity={"cpu": "64", "example.com/gpu": "8"})

    assert node["status"]["capacity"] == {
        "cpu": "64",
        "memory": "32Gi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "example.com/gpu": "8",
    }


def test_taints_are_written_as_kubernetes_does() -> None:
    node = node_manifest("node-1", taints=[Taint(key="dedicated", value="batch", effect="NoExecute")])

    assert node["spec"]["taints"] == [{"key": "dedicated", "value": "batch", "effect": "NoExecute"}]
