"""Each plugin's queueing hints: which change can help a pod that it has rejected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.events import (
    ClusterEvent,
    Happening,
    Resource,
    assigned_pod_event,
    node_event,
    object_event,
    target_pod_event,
)
from webhook.scheduling.objects import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from webhook.scheduling.plugins.node_label import NodeLabel
from webhook.scheduling.queueing_hints import QueueingStrategy
from webhook.scheduling.testing import make_cache, make_framework, make_handle, make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODE = make_node("n")
PLAIN = make_pod("waiting")
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def is_woken(
    plugin: str, pod: Pod, event: ClusterEvent | None, old: object, new: object, cache: Cache | None = None
) -> bool:
    """Whether the change wakes the pod if this plugin rejected it."""
    if event is None:
        return False
    hints = make_framework(cache or make_cache()).queueing_hints
    strategy = hints.strategy(pod, {plugin}, set(), Happening(event, old, new))
    return strategy is not QueueingStrategy.SKIP


def placed(**options: Any) -> Pod:
    return make_pod("placed", node="n", **options)


def spread(key: str = ZONE, **options: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **options,
    }
    return {"topologySpreadConstraints": [constraint]}


def near(*keys: str, kind: str = "podAffinity", **options: Any) -> dict[str, Any]:
    terms = [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": key, **options} for key in keys
    ]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def apart(key: str = ZONE) -> dict[str, Any]:
    return near(key, kind="podAntiAffinity")


TOLERANT = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
ZONED = make_node("n", labels={ZONE: "a"})


@pytest.mark.parametrize(
    ("plugin", "pod", "old", "new", "woken"),
    [
        ("NodeName", PLAIN, None, NODE, True),
        ("NodeName", PLAIN, NODE, make_node("n", cpu="9"), False),
        ("NodePorts", PLAIN, None, NODE, True),
        ("NodePorts", PLAIN, NODE, make_node("n", cpu="9"), False),
        ("VolumeRestrictions", PLAIN, None, NODE, True),
        ("VolumeRestrictions", PLAIN, NODE, None, True),
        ("VolumeBinding", PLAIN, None, NODE, True),
        ("VolumeBinding", PLAIN, NODE, ZONED, True),
        ("VolumeZone", PLAIN, NODE, ZONED, True),
        ("VolumeZone", PLAIN, NODE, make_node("n", cpu="9"), False),
        # It must fit, and there must be more of something that is wanted.
        ("NodeResourcesFit", make_pod(cpu="2"), None, make_node(cpu="2"), True),
        ("NodeResourcesFit", make_pod(cpu="2"), None, make_node(cpu="1"), False),
        ("NodeResourcesFit", make_pod(), None, make_node(pods="0"), False),
        ("NodeResourcesFit", make_pod(cpu="2"), make_node(cpu="3"), make_node(cpu="4"), True),
        ("NodeResourcesFit", make_pod(cpu="2"), make_node(cpu="4"), make_node(cpu="3"), False),
        ("NodeResourcesFit", make_pod(cpu="2"), make_node(), make_node(memory="64Gi"), False),
        ("NodeResourcesFit", make_pod(cpu="2"), make_node(pods="10"), make_node(pods="11"), True),
        ("NodeResourcesFit", make_pod(), make_node(cpu="1"), make_node(cpu="2"), False),
        (
            "NodeResourcesFit",
            make_pod(requests={"example.com/gpu": 1}),
            make_node(resources={"example.com/gpu": "1"}),
            make_node(resources={"example.com/gpu": "2"}),
            True,
        ),
        ("NodeResourcesFit", make_pod(cpu="2"), NODE, ZONED, False),
        ("NodeAffinity", make_pod(spec={"nodeSelector": {"disk": "ssd"}}), None, NODE, False),
        (
            "NodeAffinity",
            make_pod(spec={"nodeSelector": {"disk": "ssd"}}),
            NODE,
            make_node(labels={"disk": "ssd"}),
            True,
        ),
        (
            "NodeAffinity",
            make_pod(spec={"nodeSelector": {"disk": "ssd"}}),
            make_node(labels={"disk": "ssd"}),
            make_node(labels={"disk": "ssd", "more": "yes"}),
            False,
        ),
        ("TaintToleration", PLAIN, None, make_node(taints=["gpu=yes:NoSchedule"]), False),
        ("TaintToleration", make_pod(spec=TOLERANT), None, make_node(taints=["gpu=yes:NoSchedule"]), True),
        ("TaintToleration", PLAIN, make_node(taints=["gpu=yes:NoSchedule"]), make_node(), True),
        ("TaintToleration", PLAIN, make_node(taints=["gpu=yes:PreferNoSchedule"]), make_node(), False),
        ("TaintToleration", PLAIN, make_node(), make_node(taints=["gpu=yes:NoSchedule"]), False),
        ("NodeUnschedulable", PLAIN, None, make_node(unschedulable=True), False),
        ("NodeUnschedulable", PLAIN, make_node(unschedulable=True), make_node(), True),
        ("NodeUnschedulable", PLAIN, make_node(), make_node(unschedulable=True), False),
        ("PodTopologySpread", make_pod(spec=spread()), None, ZONED, True),
        ("PodTopologySpread", make_pod(spec=spread()), ZONED, None, True),
        ("PodTopologySpread", make_pod(spec=spread()), None, NODE, False),
        ("PodTopologySpread", make_pod(spec=spread()), NODE, ZONED, True),
        ("PodTopologySpread", make_pod(spec=spread()), ZONED, NODE, True),
        ("PodTopologySpread", make_pod(spec=spread()), ZONED, make_node("n", labels={ZONE: "b"}), True),
        (
            "PodTopologySpread",
            make_pod(spec=spread()),
            ZONED,
            make_node("n", labels={ZONE: "a", "x": "y"}),
            False,
        ),
        (
            "PodTopologySpread",
            make_pod(spec=spread()),
            ZONED,
            make_node("n", labels={ZONE: "a"}, taints=["a=b:NoSchedule"]),
            True,
        ),
        (
            "PodTopologySpread",
            make_pod(spec={**spread(), "nodeSelector": {"x": "y"}}),
            make_node("n", labels={ZONE: "a", "x": "y"}),
            ZONED,
            True,
        ),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), None, ZONED, True),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), ZONED, None, True),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), None, NODE, False),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), NODE, ZONED, True),
        ("InterPodAffinity", make_pod(spec=near(HOST)), NODE, ZONED, False),
        ("InterPodAffinity", make_pod(spec=apart()), None, NODE, True),
        ("InterPodAffinity", make_pod(spec=apart()), ZONED, NODE, True),
        ("InterPodAffinity", make_pod(spec=apart()), ZONED, make_node("n", labels={ZONE: "b"}), True),
        ("InterPodAffinity", make_pod(spec=apart(HOST)), ZONED, NODE, False),
        ("InterPodAffinity", PLAIN, None, NODE, True),
    ],
)
def test_a_nodes_change(plugin: str, pod: Pod, old: Node | None, new: Node | None, woken: bool) -> None:
    assert is_woken(plugin, pod, node_event(old, new), old, new) is woken


def test_a_nodes_declared_features() -> None:
    waiting = make_pod(spec={"hostNetwork": True, "hostUsers": False})
    more = msgspec.convert(
        {"status": {"declaredFeatures": ["UserNamespacesHostNetworkSupport", "Another"]}}, Node
    )
    other = msgspec.convert({"status": {"declaredFeatures": ["Another"]}}, Node)

    for old, new, woken in (
        (None, more, True),
        (other, more, True),
        (None, other, False),
        (more, other, False),
    ):
        assert is_woken("NodeDeclaredFeatures", waiting, node_event(old, new), old, new) is woken


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [(NODE, make_node("n", labels={"custom": ""}), True), (None, NODE, False), (ZONED, NODE, False)],
)
def test_a_node_label_that_was_asked_for(old: Node | None, new: Node, woken: bool) -> None:
    framework = make_framework(make_cache(), Labels=NodeLabel({}, make_handle()))
    event = node_event(old, new)
    assert event is not None

    strategy = framework.queueing_hints.strategy(PLAIN, {"Labels"}, set(), Happening(event, old, new))
    assert (strategy is not QueueingStrategy.SKIP) is woken


WEB: dict[str, Any] = {"labels": {"app": "web"}}
DB: dict[str, Any] = {"labels": {"app": "db"}}


@pytest.mark.parametrize(
    ("plugin", "pod", "old", "new", "woken"),
    [
        ("NodeResourcesFit", make_pod(cpu="1"), placed(), None, True),
        ("NodeResourcesFit", make_pod(cpu="1"), None, placed(), False),
        ("NodeResourcesFit", make_pod(cpu="1"), placed(cpu="2"), placed(cpu="1"), True),
        ("NodeResourcesFit", make_pod(memory="1Gi"), placed(cpu="2"), placed(cpu="1"), False),
        ("NodePorts", make_pod(host_ports=[80]), placed(host_ports=[80]), None, True),
        ("NodePorts", make_pod(host_ports=[80]), placed(host_ports=[81]), None, False),
        ("NodePorts", make_pod(host_ports=[80]), placed(), None, False),
        ("PodTopologySpread", make_pod(spec=spread()), None, placed(**WEB), True),
        ("PodTopologySpread", make_pod(spec=spread()), None, placed(**DB), False),
        ("PodTopologySpread", make_pod(spec=spread()), placed(**WEB), None, True),
        ("PodTopologySpread", make_pod(spec=spread()), placed(**WEB), placed(**DB), True),
        ("PodTopologySpread", make_pod(spec=spread()), placed(**DB), placed(labels={"app": "x"}), False),
        ("PodTopologySpread", make_pod(spec=spread()), placed(**WEB), placed(**WEB, metadata=GOING), True),
        ("PodTopologySpread", make_pod(spec=spread()), placed(**DB), placed(**DB, metadata=GOING), False),
        ("PodTopologySpread", make_pod(spec=spread()), None, placed(namespace="other", **WEB), False),
        (
            "PodTopologySpread",
            make_pod(spec=spread(whenUnsatisfiable="ScheduleAnyway")),
            None,
            placed(**WEB),
            False,
        ),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), None, placed(**WEB), True),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), None, placed(**DB), False),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), None, placed(namespace="other", **WEB), False),
        (
            "InterPodAffinity",
            make_pod(spec=near(ZONE, namespaceSelector={"matchLabels": {"team": "a"}})),
            None,
            placed(namespace="theirs", **WEB),
            True,
        ),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), placed(**DB), placed(**WEB), True),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), placed(**DB), placed(labels={"app": "x"}), False),
        # The first of a group may go anywhere once no other is left.
        ("InterPodAffinity", make_pod(spec=near(ZONE)), placed(**WEB), None, True),
        ("InterPodAffinity", make_pod(spec=near(ZONE)), placed(**DB), None, False),
        ("InterPodAffinity", make_pod(spec=apart()), placed(**WEB), None, True),
        ("InterPodAffinity", make_pod(spec=apart()), placed(**DB), None, False),
        ("InterPodAffinity", make_pod(spec=apart()), None, placed(**WEB), False),
        ("InterPodAffinity", make_pod(spec=apart()), placed(**WEB), placed(**DB), True),
        ("InterPodAffinity", make_pod(spec=apart()), placed(**DB), placed(**WEB), False),
        ("InterPodAffinity", make_pod(**WEB), placed(spec=apart()), None, True),
        ("InterPodAffinity", make_pod(**DB), placed(spec=apart()), None, False),
    ],
)
def test_a_placed_pods_change(plugin: str, pod: Pod, old: Pod | None, new: Pod | None, woken: bool) -> None:
    cache = make_cache(NODE)
    cache.namespaces.set(
        msgspec.convert({"metadata": {"name": "theirs", "labels": {"team": "a"}}}, Namespace)
    )

    assert is_woken(plugin, pod, assigned_pod_event(old, new), old, new, cache) is woken


def test_a_node_that_moves_to_where_a_placed_pods_anti_affinity_reaches() -> None:
    cache = make_cache(ZONED, pods=[placed(spec=apart())])
    moved = make_node("n", labels={ZONE: "b"})
    event = node_event(ZONED, moved)

    assert is_woken("InterPodAffinity", make_pod(**WEB), event, ZONED, moved, cache)
    assert not is_woken("InterPodAffinity", make_pod(**DB), event, ZONED, moved, cache)


@pytest.mark.parametrize(
    ("plugin", "old", "new", "woken"),
    [
        ("NodeResourcesFit", make_pod(cpu="2"), make_pod(cpu="1"), True),
        ("NodeResourcesFit", make_pod(), make_pod(**WEB), False),
        ("TaintToleration", make_pod(), make_pod(spec=TOLERANT), True),
        ("NodeUnschedulable", make_pod(), make_pod(spec=TOLERANT), False),
        ("NodeUnschedulable", make_pod(), make_pod(spec={"tolerations": [{"operator": "Exists"}]}), True),
        ("PodTopologySpread", make_pod(spec=spread()), make_pod(spec=spread(), **WEB), True),
        ("PodTopologySpread", make_pod(), make_pod(spec=TOLERANT), True),
        ("InterPodAffinity", make_pod(), make_pod(**WEB), True),
        ("NodeDeclaredFeatures", make_pod(), make_pod(metadata={"annotations": {"a": "1"}}), False),
        (
            "NodeDeclaredFeatures",
            make_pod(),
            make_pod(spec={"hostNetwork": True, "hostUsers": False}),
            True,
        ),
        ("NodeAffinity", make_pod(), make_pod(**WEB), False),
    ],
)
def test_the_waiting_pods_own_change(plugin: str, old: Pod, new: Pod, woken: bool) -> None:
    assert is_woken(plugin, new, target_pod_event(old, new), old, new) is woken


VOLUMES = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


def claim(name: str = "c", namespace: str = "default", **spec: Any) -> PersistentVolumeClaim:
    manifest = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return msgspec.convert(manifest, PersistentVolumeClaim)


def volume(zone: str) -> PersistentVolume:
    return msgspec.convert({"metadata": {"name": "v", "labels": {ZONE: zone}}}, PersistentVolume)


def storage_class(mode: str) -> StorageClass:
    return msgspec.convert({"metadata": {"name": "fast"}, "volumeBindingMode": mode}, StorageClass)


@pytest.mark.parametrize(
    ("plugin", "resource", "old", "new", "woken"),
    [
        *[
            (plugin, Resource.PERSISTENT_VOLUME_CLAIM, None, new, woken)
            for plugin in ("VolumeBinding", "VolumeZone", "VolumeRestrictions")
            for new, woken in (
                (claim(), True),
                (claim("another"), False),
                (claim(namespace="other"), False),
            )
        ],
        ("VolumeBinding", Resource.PERSISTENT_VOLUME_CLAIM, claim(), claim(volumeName="v"), True),
        ("VolumeRestrictions", Resource.PERSISTENT_VOLUME_CLAIM, claim(), claim(volumeName="v"), False),
        ("VolumeBinding", Resource.PERSISTENT_VOLUME, volume("a"), volume("b"), True),
        ("VolumeZone", Resource.PERSISTENT_VOLUME, None, volume("a"), True),
        ("VolumeZone", Resource.PERSISTENT_VOLUME, volume("a"), volume("b"), True),
        ("VolumeZone", Resource.PERSISTENT_VOLUME, volume("a"), volume(" a"), False),
        ("VolumeBinding", Resource.STORAGE_CLASS, None, storage_class("Immediate"), True),
        ("VolumeZone", Resource.STORAGE_CLASS, None, storage_class("Immediate"), False),
        ("VolumeZone", Resource.STORAGE_CLASS, None, storage_class("WaitForFirstConsumer"), True),
    ],
)
def test_a_storage_objects_change(
    plugin: str, resource: Resource, old: object | None, new: object | None, woken: bool
) -> None:
    waiting = make_pod(spec=VOLUMES)

    assert is_woken(plugin, waiting, object_event(resource, old, new), old, new) is woken


@pytest.mark.parametrize(
    ("other", "woken"),
    [
        (placed(spec=VOLUMES), True),
        (placed(spec=VOLUMES, namespace="other"), False),
        (placed(), False),
    ],
)
def test_a_pod_that_gives_a_claim_back(other: Pod, woken: bool) -> None:
    event = assigned_pod_event(other, None)

    assert is_woken("VolumeRestrictions", make_pod(spec=VOLUMES), event, other, None) is woken
