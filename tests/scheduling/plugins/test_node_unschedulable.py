from __future__ import annotations

from webhook.scheduling.plugins.node_unschedulable import NodeUnschedulable
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_filter

CACHE = make_cache(make_node("open"), make_node("cordoned", unschedulable=True))


def test_a_cordoned_node_is_rejected() -> None:
    assert run_filter(NodeUnschedulable(), make_pod(), CACHE) == {"cordoned": ["node(s) were unschedulable"]}


def test_a_pod_that_tolerates_the_cordon_may_go_there() -> None:
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}

    assert run_filter(NodeUnschedulable(), make_pod(spec={"tolerations": [toleration]}), CACHE) == {}


def test_tolerating_another_effect_does_not_help() -> None:
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}

    assert set(run_filter(NodeUnschedulable(), make_pod(spec={"tolerations": [toleration]}), CACHE)) == {
        "cordoned"
    }
