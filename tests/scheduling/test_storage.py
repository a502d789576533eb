from __future__ import annotations

from tests.scheduling.storage import claim, csi_driver, csi_node, storage_class, volume
from webhook.scheduling.storage import Storage


def test_objects_are_found_as_they_are_now() -> None:
    storage = Storage()
    storage.put(claim("c"))
    storage.put(claim("c", volume="v"))
    storage.put(volume("v"))

    assert storage.claim("default", "c") == claim("c", volume="v")
    assert storage.volume("v") == volume("v")
    storage.remove(claim("c"))
    storage.remove(claim("c"))
    storage.remove(volume("v"))
    assert storage.claim("default", "c") is None
    assert storage.volume("v") is None


def test_a_claim_waits_for_its_pod_if_its_class_says_so() -> None:
    storage = Storage()
    storage.put(storage_class("late", "WaitForFirstConsumer"))
    storage.put(storage_class("early", "Immediate"))
    annotations = {"volume.beta.kubernetes.io/storage-class": "late"}

    assert storage.waits_for_pod(claim(storage_class="late"))
    assert storage.waits_for_pod(claim(storage_class="early", annotations=annotations))
    assert not storage.waits_for_pod(claim(storage_class="early"))
    assert not storage.waits_for_pod(claim(storage_class="unknown"))
    assert not storage.waits_for_pod(claim())


def test_a_driver_is_limited_as_long_as_one_node_limits_it() -> None:
    storage = Storage()
    storage.put(csi_node("a", disk=16, file=None))
    storage.put(csi_node("b", disk=8))

    storage.put(csi_node("a", file=None))
    one_left = storage.is_limited("disk")
    storage.remove(csi_node("b"))

    assert one_left
    assert not storage.is_limited("disk")
    assert not storage.is_limited("file")


def test_a_driver_may_exclude_nodes_without_it() -> None:
    storage = Storage()
    storage.put(csi_driver("strict", prevents=True))
    storage.put(csi_driver("lax", prevents=False))

    assert [storage.must_be_installed(name) for name in ("strict", "lax", "unknown")] == [True, False, False]
