from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.scheduling.storage import claim, using, volume, with_ephemeral
from webhook.errors import ConfigurationError
from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import PersistentVolume, PersistentVolumeClaim, Pod
from webhook.scheduling.outcome import FitError
from webhook.scheduling.plugins.volume_binding import VolumeBinding
from webhook.scheduling.testing import (
    make_cache,
    make_framework,
    make_handle,
    make_node,
    make_pod,
    run_filter,
)

OUT_OF_REACH = ["node(s) didn't match PersistentVolume's node affinity"]
GONE = ["node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"]


def on(*hosts: str, name: str = "v") -> PersistentVolume:
    """A volume that is on these hosts."""
    expression = {"key": "host", "operator": "In", "values": list(hosts)}
    terms = [{"matchExpressions": [expression]}]
    return volume(name, nodeAffinity={"required": {"nodeSelectorTerms": terms}})


def cluster(*objects: PersistentVolume | PersistentVolumeClaim) -> Cache:
    cache = make_cache(*(make_node(name, labels={"host": name}) for name in "abc"))
    for each in objects:
        cache.storage.put(each)
    return cache


def rejected(pod: Pod, cache: Cache) -> dict[str, list[str]]:
    return run_filter(VolumeBinding({}, make_handle(cache)), pod, cache)


def test_a_bound_volume_is_used_from_the_nodes_that_reach_it() -> None:
    cache = cluster(claim("c", volume="v"), on("a", "b"))

    assert rejected(using("c"), cache) == {"c": OUT_OF_REACH}


def test_all_volumes_must_be_in_reach() -> None:
    cache = cluster(
        claim("c", volume="v"),
        on("a", "b"),
        claim("d", volume="w"),
        on("b", "c", name="w"),
        claim("e", volume="x"),
        volume("x"),
    )

    assert rejected(using("c", "d", "e"), cache) == {"a": OUT_OF_REACH, "c": OUT_OF_REACH}


def test_a_volume_that_is_gone_is_in_nobodys_reach() -> None:
    cache = cluster(claim("c", volume="v"), on("a", "b"), claim("d", volume="gone"))

    assert rejected(using("c", "d"), cache) == {"a": GONE, "b": GONE, "c": OUT_OF_REACH}


def test_a_pod_without_claims_goes_anywhere() -> None:
    assert rejected(make_pod(spec={"volumes": [{"name": "tmp", "emptyDir": {}}]}), cluster()) == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"status": {"phase": "Lost"}},
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        ),
        (
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            'persistentvolumeclaim "c" is being deleted',
        ),
        ({"metadata": {"annotations": {}}}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"spec": {"volumeName": ""}}, "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_a_claim_that_is_no_good_is_told_of_in_kube_schedulers_words(
    change: dict[str, Any], reason: str
) -> None:
    manifest = msgspec.to_builtins(claim("c", volume="v"))
    for part, values in change.items():
        manifest[part].update(values)
    cache = cluster(msgspec.convert(manifest, PersistentVolumeClaim), volume("v"))

    assert rejected(using("c"), cache) == {"a": [reason], "b": [reason], "c": [reason]}


def test_the_claim_of_an_ephemeral_volume_must_be_there_and_be_the_pods() -> None:
    cache = cluster(volume("v"))
    pod, owner = with_ephemeral(), {"uid": "uid-of-default/pod", "controller": True}
    missing = rejected(pod, cache)

    cache.storage.put(claim("pod-scratch", volume="v"))
    foreign = rejected(pod, cache)
    cache.storage.put(claim("pod-scratch", volume="v", ownerReferences=[owner]))

    assert missing["a"] == [
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"'
    ]
    assert foreign["a"] == ["PVC default/pod-scratch was not created for pod default/pod (pod is not owner)"]
    assert rejected(pod, cache) == {}


def test_a_pod_with_a_claim_that_is_missing_is_told_so_as_kube_scheduler_tells_it() -> None:
    decision = make_framework(cluster()).schedule(using("nope"))

    assert isinstance(decision, FitError)
    assert decision.message == '0/3 nodes are available: persistentvolumeclaim "nope" not found.'


def test_arguments_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"arguments of VolumeBinding: .*bindTimeoutSeconds"):
        VolumeBinding({"bindTimeoutSeconds": 600}, make_handle())
