from __future__ import annotations

from tests.scheduling.storage import claim, one_pod_claim, using
from webhook.scheduling.plugins.volume_restrictions import VolumeRestrictions
from webhook.scheduling.testing import make_cache, make_handle, make_node, make_pod, run_filter

IN_USE = [
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
]


def test_a_claim_for_one_pod_keeps_the_next_pod_from_all_nodes() -> None:
    cache = make_cache(make_node("a"), make_node("b"))
    for name in ("only", "spare"):
        cache.storage.put(one_pod_claim(name))
    plugin = VolumeRestrictions({}, make_handle(cache))
    free = run_filter(plugin, using("only"), cache)

    cache.assume(using("only", name="first"), "a")
    taken = run_filter(plugin, using("only", "spare"), cache)
    cache.forget(using("only", name="first"))

    assert (free, taken) == ({}, {"a": IN_USE, "b": IN_USE})
    assert run_filter(plugin, using("only"), cache) == {}


def test_a_claim_that_many_may_use_keeps_nobody_away() -> None:
    cache = make_cache(make_node("a"), pods=[using("shared", name="first", node="a")])
    cache.storage.put(claim("shared", volume="v"))

    assert run_filter(VolumeRestrictions({}, make_handle(cache)), using("shared"), cache) == {}


def test_a_claim_that_is_not_there_is_named() -> None:
    cache = make_cache(make_node("a"))

    rejected = run_filter(VolumeRestrictions({}, make_handle(cache)), using("nope"), cache)

    assert rejected == {"a": ['persistentvolumeclaim "nope" not found']}
    assert run_filter(VolumeRestrictions({}, make_handle(cache)), make_pod(), cache) == {}
