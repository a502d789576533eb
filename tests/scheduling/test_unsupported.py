from __future__ import annotations

from typing import Any

import pytest

from webhook.scheduling.outcome import Placement, Unsupported
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"affinity": {"podAffinity": {REQUIRED: [TERM]}}}, f"spec.affinity.podAffinity.{REQUIRED}"),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}}, f"spec.affinity.podAntiAffinity.{REQUIRED}"),
        (volume(persistentVolumeClaim={"claimName": "c"}), "spec.volumes[data].persistentVolumeClaim"),
        (volume(ephemeral={"volumeClaimTemplate": {}}), "spec.volumes[data].ephemeral"),
        (volume(gcePersistentDisk={"pdName": "d"}), "spec.volumes[data].gcePersistentDisk"),
        ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
        ({"schedulingGroup": {"podGroupName": "g"}}, "spec.schedulingGroup"),
    ],
)
def test_a_constraint_that_is_not_implemented_leaves_the_pod_pending_and_is_named(
    spec: dict[str, Any], field: str
) -> None:
    decision = make_framework(make_cache(make_node())).schedule(make_pod(spec=spec))

    assert isinstance(decision, Unsupported)
    assert decision.reason == "Unsupported"
    assert decision.fields == (field,)
    assert field in decision.message


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        volume(emptyDir={}),
        volume(configMap={"name": "c"}),
        volume(projected={}),
        volume(csi={"driver": "d"}),
    ],
)
def test_preferences_and_volumes_that_are_everywhere_do_not_hold_a_pod_back(spec: dict[str, Any]) -> None:
    assert isinstance(make_framework(make_cache(make_node())).schedule(make_pod(spec=spec)), Placement)


def test_all_unsupported_fields_are_named() -> None:
    decision = make_framework(make_cache(make_node())).schedule(
        make_pod(spec={"resourceClaims": [{"name": "gpu"}], **volume(ephemeral={})})
    )

    assert isinstance(decision, Unsupported)
    assert len(decision.fields) == 2


@pytest.mark.parametrize(
    ("term", "labels", "namespace", "blocked"),
    [
        (TERM, {"app": "web"}, "default", True),
        (TERM, {"app": "db"}, "default", False),
        (TERM, {"app": "web"}, "elsewhere", False),
        ({**TERM, "namespaces": ["elsewhere"]}, {"app": "web"}, "elsewhere", True),
        ({**TERM, "namespaces": ["elsewhere"]}, {"app": "web"}, "default", False),
        ({**TERM, "namespaceSelector": {}}, {"app": "web"}, "elsewhere", True),
        ({"topologyKey": "zone"}, {"app": "web"}, "default", False),
        ({"topologyKey": "zone", "labelSelector": {}}, {}, "default", True),
        (
            {
                "topologyKey": "zone",
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "NotIn", "values": ["db"]},
                        {"key": "app", "operator": "In", "values": ["web", "api"]},
                        {"key": "app", "operator": "Exists"},
                        {"key": "legacy", "operator": "DoesNotExist"},
                    ]
                },
            },
            {"app": "api"},
            "default",
            True,
        ),
    ],
)
def test_a_placed_pod_that_may_refuse_the_pod_as_a_neighbour_holds_it_back(
    term: dict[str, Any], labels: dict[str, str], namespace: str, blocked: bool
) -> None:
    placed = make_pod("placed", node="node", spec={"affinity": {"podAntiAffinity": {REQUIRED: [term]}}})
    cache = make_cache(make_node(), pods=[placed])
    framework, pod = make_framework(cache), make_pod("new", namespace=namespace, labels=labels)

    before = framework.schedule(pod)
    cache.remove_pod(placed)
    after = framework.schedule(pod)

    assert isinstance(before, Unsupported) is blocked
    assert isinstance(after, Placement)
