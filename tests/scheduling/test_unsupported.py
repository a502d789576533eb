from __future__ import annotations

from typing import Any

import pytest

from webhook.scheduling.outcome import Placement, Unsupported
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
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
        volume(emptyDir={}),
        volume(configMap={"name": "c"}),
        volume(projected={}),
        volume(csi={"driver": "d"}),
    ],
)
def test_volumes_that_are_everywhere_do_not_hold_a_pod_back(spec: dict[str, Any]) -> None:
    assert isinstance(make_framework(make_cache(make_node())).schedule(make_pod(spec=spec)), Placement)


def test_all_unsupported_fields_are_named() -> None:
    decision = make_framework(make_cache(make_node())).schedule(
        make_pod(spec={"resourceClaims": [{"name": "gpu"}], **volume(ephemeral={})})
    )

    assert isinstance(decision, Unsupported)
    assert len(decision.fields) == 2
