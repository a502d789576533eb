from __future__ import annotations

from typing import Any

import msgspec

from webhook.inspect.creation import as_created
from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects import Pod
from webhook.scheduling.resources import incoming_requests


def created(spec: dict[str, Any], **others: Any) -> Pod:
    pod = msgspec.convert({"spec": {"containers": [{"name": "main"}], **spec}, **others}, Pod)
    metadata = ObjectMeta(name="web", namespace="shop", uid="u")
    return as_created(pod, metadata=metadata, scheduler_name="custom-scheduler")


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "main", "resources": resources}


def test_the_pod_is_new_and_nowhere_yet() -> None:
    pod = created(
        {"nodeName": "node-1"},
        metadata={"name": "x", "labels": {"app": "web"}, "deletionTimestamp": "2026-01-01T00:00:00Z"},
        status={"phase": "Succeeded"},
    )

    assert (pod.key, pod.labels, pod.spec.node_name) == ("shop/web", {"app": "web"}, "")
    assert not pod.is_terminal
    assert not pod.is_terminating


def test_a_scheduler_is_named_only_where_there_is_none() -> None:
    assert created({}).spec.scheduler_name == "custom-scheduler"
    assert created({"schedulerName": "other"}).spec.scheduler_name == "other"


def test_limits_stand_for_requests_that_are_missing() -> None:
    pod = created(
        {
            "containers": [container(limits={"cpu": "2", "memory": "1Gi"}, requests={"memory": "1Mi"})],
            "initContainers": [container(limits={"cpu": "3"})],
        }
    )

    assert incoming_requests(pod)["cpu"] == 3000
    assert pod.containers[0].resources.requests == {"cpu": "2", "memory": "1Mi"}


def test_limits_of_the_whole_pod_stand_for_requests_that_no_container_has() -> None:
    pod = created(
        {
            "containers": [container(requests={"cpu": "1"})],
            "resources": {"limits": {"cpu": "4", "memory": "2Gi"}},
        }
    )

    assert pod.spec.resources is not None
    assert pod.spec.resources.requests == {"memory": "2Gi"}


def test_on_the_hosts_network_each_port_is_one_of_the_host() -> None:
    ports = [{"containerPort": 80}]

    on_host = created({"hostNetwork": True, "containers": [{"name": "main", "ports": ports}]})
    apart = created({"containers": [{"name": "main", "ports": ports}]})

    assert on_host.containers[0].ports[0].host_port == 80
    assert apart.containers[0].ports[0].host_port == 0


def test_a_node_that_is_not_ready_is_borne_unless_the_pod_says_how() -> None:
    own = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}

    keys = [each.key for each in created({"tolerations": [own]}).spec.tolerations]

    assert sorted(keys) == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    assert len(created({"tolerations": [{"operator": "Exists"}]}).spec.tolerations) == 1


def test_label_keys_of_affinity_become_part_of_the_selector() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    rule = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}],
    }

    pod = created(
        {"affinity": {"podAffinity": rule, "podAntiAffinity": rule}},
        metadata={"labels": {"version": "2", "tenant": "a"}},
    )

    assert pod.spec.affinity is not None
    for affinity in (pod.spec.affinity.pod_affinity, pod.spec.affinity.pod_anti_affinity):
        assert affinity is not None
        for each in (affinity.required[0], affinity.preferred[0].pod_affinity_term):
            assert each.label_selector is not None
            told = [(one.key, one.operator, one.values) for one in each.label_selector.match_expressions]
            assert told == [("version", "In", ("2",)), ("tenant", "NotIn", ("a",))]
