from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.objects import Node
from webhook.scheduling.plugins.node_declared_features import NodeDeclaredFeatures
from webhook.scheduling.testing import make_cache, make_pod, run_filter

LACKING = ["node(s) didn't match Pod's required features"]


def node(name: str, *features: str) -> Node:
    return msgspec.convert({"metadata": {"name": name}, "status": {"declaredFeatures": features}}, Node)


def container(**more: Any) -> dict[str, Any]:
    return {"name": "c", **more}


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
        (
            {"initContainers": [container(restartPolicyRules=[{"action": "RestartAllContainers"}])]},
            "RestartAllContainersOnContainerExits",
        ),
        (
            {"containers": [container(volumeMounts=[{"name": "v", "bindMountOptions": ["noexec"]}])]},
            "VolumeBindMountOptions",
        ),
    ],
)
def test_a_pod_goes_where_the_feature_that_it_needs_is_declared(spec: dict[str, Any], feature: str) -> None:
    cache = make_cache(node("able", feature, "Another"), node("other", "Another"), node("old"))

    assert run_filter(NodeDeclaredFeatures(), make_pod(spec=spec), cache) == {
        "other": LACKING,
        "old": LACKING,
    }


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"hostNetwork": True},
        {"hostNetwork": True, "hostUsers": True},
        {"hostUsers": False},
        {"containers": [container(restartPolicyRules=[{"action": "Restart"}], volumeMounts=[{"name": "v"}])]},
    ],
)
def test_a_pod_that_needs_none_goes_anywhere(spec: dict[str, Any]) -> None:
    assert run_filter(NodeDeclaredFeatures(), make_pod(spec=spec), make_cache(node("old"))) == {}
