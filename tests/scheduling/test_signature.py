from __future__ import annotations

from typing import Any

import pytest

from webhook.scheduling.objects import Pod
from webhook.scheduling.signature import signature
from webhook.scheduling.testing import make_pod

POD = make_pod("a", cpu="1")


@pytest.mark.parametrize(
    "other",
    [
        make_pod("b", cpu="1"),
        make_pod("b", cpu="1", labels={"statefulset.kubernetes.io/pod-name": "b"}),
        make_pod("a", cpu="1", spec={"volumes": [{"name": "kube-api-access-x7k2p", "projected": {}}]}),
        make_pod("a", cpu="1", status={"conditions": [{"type": "PodScheduled", "status": "False"}]}),
        make_pod("a", cpu="1", spec={"affinity": {"podAffinity": {}}}),
    ],
)
def test_replicas_have_it_in_common(other: Pod) -> None:
    assert signature(other) == signature(POD)


@pytest.mark.parametrize(
    "difference",
    [
        {"cpu": "2"},
        {"host_ports": [80]},
        {"node": "n"},
        {"spec": {"nodeSelector": {"disk": "ssd"}}},
        {"spec": {"tolerations": [{"key": "gpu"}]}},
        {"spec": {"overhead": {"cpu": "1"}}},
        {"spec": {"resources": {"requests": {"cpu": "2"}}}},
        {"spec": {"hostNetwork": True}},
        {"spec": {"hostUsers": False}},
        {"spec": {"initContainers": [{"name": "first"}]}},
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": 1,
                                "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                            }
                        ]
                    }
                }
            }
        },
        {"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]}},
        {"status": {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}},
        {"status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]}},
    ],
)
def test_whatever_a_node_is_judged_by_makes_a_difference(difference: dict[str, Any]) -> None:
    assert signature(make_pod("a", **{"cpu": "1", **difference})) != signature(POD)
