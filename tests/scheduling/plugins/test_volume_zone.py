from __future__ import annotations

from tests.scheduling.storage import claim, using, volume
from webhook.scheduling.outcome import FitError
from webhook.scheduling.plugins.volume_zone import VolumeZone
from webhook.scheduling.testing import make_cache, make_framework, make_handle, make_node, run_filter

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def rejected(volume_labels: dict[str, str], **nodes: dict[str, str]) -> set[str]:
    """The nodes, by name with their labels, from which a volume with these labels can't be used."""
    cache = make_cache(*(make_node(name, labels=labels) for name, labels in nodes.items()))
    cache.storage.put(claim("c", volume="v"))
    cache.storage.put(volume("v", labels=volume_labels))
    found = run_filter(VolumeZone({}, make_handle(cache)), using("c"), cache)
    assert all(reasons == ["node(s) had no available volume zone"] for reasons in found.values())
    return set(found)


def test_a_volume_is_used_in_its_zone() -> None:
    nodes = {"same": {ZONE: "1"}, "other": {ZONE: "2"}}

    assert rejected({ZONE: "1"}, **nodes) == {"other"}
    assert rejected({ZONE: "1__3"}, **nodes) == {"other"}
    assert rejected({ZONE: "2__1"}, **nodes) == set()
    assert rejected({}, **nodes) == set()


def test_zone_and_region_must_both_agree() -> None:
    nodes = {"both": {ZONE: "1", REGION: "r"}, "zone": {ZONE: "1", REGION: "s"}, "half": {ZONE: "1"}}

    assert rejected({ZONE: "1", REGION: "r"}, **nodes) == {"zone", "half"}


def test_nodes_without_any_such_label_are_in_a_cluster_of_one_zone() -> None:
    assert rejected({ZONE: "1"}, bare={"disk": "ssd"}) == set()


def test_an_old_label_of_the_volume_may_meet_the_new_one_of_the_node() -> None:
    nodes = {"new": {ZONE: "1"}, "old": {OLD_ZONE: "1", ZONE: "2"}, "away": {OLD_ZONE: "2", ZONE: "1"}}

    assert rejected({OLD_ZONE: "1"}, **nodes) == {"away"}
    assert rejected({ZONE: "1"}, old={OLD_ZONE: "1"}) == {"old"}


def test_a_broken_label_asks_for_nothing() -> None:
    assert rejected({ZONE: "1__"}, other={ZONE: "2"}) == set()


def test_a_volume_that_is_gone_is_named() -> None:
    cache = make_cache(make_node())
    cache.storage.put(claim("c", volume="gone"))

    decision = make_framework(cache).schedule(using("c"))

    assert isinstance(decision, FitError)
    assert decision.message == '0/1 nodes are available: persistentvolume "gone" not found.'
    assert decision.rejected_by == {"VolumeZone"}
