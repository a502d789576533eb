from __future__ import annotations

from typing import Any

import pytest

from tests.scheduling.storage import (
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
    with_ephemeral,
)
from webhook.scheduling.outcome import Placement, Unsupported
from webhook.scheduling.storage import StorageObject
from webhook.scheduling.testing import make_cache, make_framework, make_node, make_pod

CLAIM = "spec.volumes[of-c].persistentVolumeClaim"


def inline(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (inline(gcePersistentDisk={"pdName": "d"}), "spec.volumes[data].gcePersistentDisk"),
        (inline(rbd={"image": "i"}), "spec.volumes[data].rbd"),
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
    ("objects", "field"),
    [
        (
            [claim(storage_class="late"), storage_class("late", "WaitForFirstConsumer")],
            f"{CLAIM} of a StorageClass with volumeBindingMode WaitForFirstConsumer",
        ),
        ([claim(volume="v"), volume(azureDisk={})], f"{CLAIM} on a volume of kind azureDisk"),
        (
            [claim(volume="v"), volume(csi={"driver": "disk"}), csi_node("n", disk=16)],
            f"{CLAIM} on a volume of CSI driver disk, which limits the volumes of a node,",
        ),
        (
            [claim(volume="v"), volume(csi={"driver": "disk"}), csi_driver("disk", prevents=True)],
            f"{CLAIM} on a volume of CSI driver disk, which must be installed on the node,",
        ),
    ],
)
def test_a_claim_that_can_not_be_served_leaves_the_pod_pending_and_says_why(
    objects: list[StorageObject], field: str
) -> None:
    cache = make_cache(make_node())
    for each in objects:
        cache.storage.put(each)

    decision = make_framework(cache).schedule(using("c"))

    assert isinstance(decision, Unsupported)
    assert decision.fields == (field,)


def test_the_claim_of_an_ephemeral_volume_is_looked_at_too() -> None:
    cache = make_cache(make_node())
    cache.storage.put(claim("pod-scratch", storage_class="late"))
    cache.storage.put(storage_class("late", "WaitForFirstConsumer"))

    decision = make_framework(cache).schedule(with_ephemeral())

    assert isinstance(decision, Unsupported)
    assert decision.fields == (
        "spec.volumes[scratch].ephemeral of a StorageClass with volumeBindingMode WaitForFirstConsumer",
    )


def test_a_bound_claim_on_a_driver_without_limits_is_served() -> None:
    cache = make_cache(make_node())
    objects: list[StorageObject] = [
        claim(volume="v", storage_class="late"),
        storage_class("late", "WaitForFirstConsumer"),
        volume(csi={"driver": "disk"}),
        csi_node("n", disk=None, other=16),
        csi_driver("disk", prevents=False),
    ]
    for each in objects:
        cache.storage.put(each)

    assert isinstance(make_framework(cache).schedule(using("c")), Placement)


@pytest.mark.parametrize(
    "spec",
    [
        inline(emptyDir={}),
        inline(configMap={"name": "c"}),
        inline(projected={}),
        inline(csi={"driver": "d"}),
    ],
)
def test_volumes_that_are_everywhere_do_not_hold_a_pod_back(spec: dict[str, Any]) -> None:
    assert isinstance(make_framework(make_cache(make_node())).schedule(make_pod(spec=spec)), Placement)


def test_all_unsupported_fields_are_named() -> None:
    decision = make_framework(make_cache(make_node())).schedule(
        make_pod(spec={"resourceClaims": [{"name": "gpu"}], **inline(rbd={})})
    )

    assert isinstance(decision, Unsupported)
    assert len(decision.fields) == 2
