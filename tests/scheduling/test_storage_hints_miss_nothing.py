"""With claims and volumes drawn at random: whatever makes a rejected pod schedulable also wakes it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from tests.scheduling.hints import woken
from tests.scheduling.storage import claim, csi_node, one_pod_claim, storage_class, using, volume
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import (
    ClusterEvent,
    Happening,
    Resource,
    assigned_pod_event,
    node_event,
    object_event,
)
from webhook.scheduling.objects import (
    CSINode,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from webhook.scheduling.storage import StorageObject
from webhook.scheduling.testing import make_framework, make_node

SEEDS = 60
CHANGES = 40
ZONE = "topology.kubernetes.io/zone"

RESOURCES: dict[type[StorageObject], Resource] = {
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    StorageClass: Resource.STORAGE_CLASS,
    CSINode: Resource.CSI_NODE,
}


class Cluster:
    """Two nodes, and claims, volumes, classes and pods that come and go."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.cache = Cache()
        self.framework = make_framework(self.cache)
        self.nodes: dict[str, Node] = {}
        self.stored: dict[tuple[type[StorageObject], str], StorageObject] = {}
        self.placed: dict[str, Pod] = {}
        self.waiting = [using("c0"), using("c1"), using("c0", "c1"), using()]

    def changes(self) -> Iterator[Happening | None]:
        """Let things happen, one after the other."""
        kinds: tuple[Callable[[], Happening | None], ...] = (
            self.put_node,
            self.remove_node,
            self.put_stored,
            self.put_stored,
            self.put_stored,
            self.remove_stored,
            self.place,
            self.end_pod,
        )
        for _ in range(CHANGES):
            yield self.rng.choice(kinds)()

    def put_node(self) -> Happening | None:
        labels = {ZONE: self.rng.choice("ab")} if self.rng.random() < 0.8 else {}
        new = make_node(self.rng.choice(("n0", "n1")), labels=labels)
        old, self.nodes[new.name] = self.nodes.get(new.name), new
        self.cache.set_node(new)
        return _happening(node_event(old, new), old, new)

    def remove_node(self) -> Happening | None:
        old = self.nodes.pop(self.rng.choice(("n0", "n1")), None)
        if old is None:
            return None
        self.cache.remove_node(old.name)
        return _happening(node_event(old, None), old, None)

    def put_stored(self) -> Happening | None:
        name = self.rng.choice(("c0", "c1"))
        far = {"required": {"nodeSelectorTerms": [{"matchExpressions": [_in_zone(self.rng)]}]}}
        new: StorageObject = self.rng.choice(
            (
                claim(name),
                claim(name, storage_class="slow"),
                claim(name, volume="v0"),
                claim(name, volume="v0"),
                claim(name, volume="v1"),
                claim(name, volume="v0", deletionTimestamp="2026-01-01T00:00:00Z"),
                one_pod_claim(name),
                volume("v"),
                volume("v0"),
                volume("v0", nodeAffinity=far),
                volume("v1", labels={ZONE: self.rng.choice("ab")}),
                volume("v0", csi={"driver": "d"}),
                storage_class("slow", self.rng.choice(("Immediate", "WaitForFirstConsumer"))),
                csi_node("n0", d=self.rng.choice((None, 1))),
            )
        )
        key = (type(new), new.metadata.key)
        old, self.stored[key] = self.stored.get(key), new
        self.cache.storage.put(new)
        return _happening(object_event(RESOURCES[type(new)], old, new), old, new)

    def remove_stored(self) -> Happening | None:
        if not self.stored:
            return None
        key = self.rng.choice(sorted(self.stored, key=str))
        old = self.stored.pop(key)
        self.cache.storage.remove(old)
        return _happening(object_event(RESOURCES[type(old)], old, None), old, None)

    def place(self) -> Happening | None:
        name = f"placed-{self.rng.randrange(10**9)}"
        pod = using(self.rng.choice(("c0", "c1")), name=name, node=self.rng.choice(("n0", "n1")))
        self.placed[name] = pod
        self.cache.set_pod(pod)
        return _happening(assigned_pod_event(None, pod), None, pod)

    def end_pod(self) -> Happening | None:
        if not self.placed:
            return None
        old = self.placed.pop(self.rng.choice(sorted(self.placed)))
        ended = msgspec.structs.replace(old, status=msgspec.structs.replace(old.status, phase="Succeeded"))
        self.cache.set_pod(ended)
        return _happening(assigned_pod_event(old, ended), old, None)


def _happening(event: ClusterEvent | None, old: object, new: object) -> Happening | None:
    return None if event is None else Happening(event, old, new)


def _in_zone(rng: random.Random) -> dict[str, object]:
    return {"key": ZONE, "operator": "In", "values": [rng.choice("ab")]}


def test_a_change_that_makes_a_pod_with_claims_schedulable_wakes_it() -> None:
    helped: Counter[str] = Counter()
    for seed in range(SEEDS):
        cluster = Cluster(seed)
        helped += woken(seed, cluster.framework, cluster.waiting, cluster.changes())
    for plugin in ("VolumeBinding", "VolumeRestrictions", "VolumeZone", "Unsupported"):
        assert helped[plugin] >= 2, helped
