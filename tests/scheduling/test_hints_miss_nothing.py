"""On clusters drawn at random: whatever makes a rejected pod schedulable also wakes it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from tests.scheduling.hints import woken
from tests.scheduling.random_cluster import random_node, random_pod
from webhook.scheduling.cache import Cache
from webhook.scheduling.events import Happening, assigned_pod_event, node_event, target_pod_event
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Namespace, Node, Pod
from webhook.scheduling.testing import make_framework

SEEDS = 80
CHANGES = 25


class Cluster:
    """A few nodes with pods on them, and pods that wait."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.cache = Cache()
        for name, labels in (("default", {}), ("other", {"team": "a"})):
            manifest = {"metadata": {"name": name, "labels": labels}}
            self.cache.namespaces.set(msgspec.convert(manifest, Namespace))
        self.framework: Framework = make_framework(self.cache)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        for number in range(4):
            self.put_node(random_node(self.rng, f"n{number}"))
        for number in range(8):
            self.put_pod(self.placed(f"placed-{number}"))
        self.waiting = [random_pod(self.rng, f"waiting-{number}") for number in range(8)]

    def placed(self, name: str) -> Pod:
        return random_pod(self.rng, name, node=self.rng.choice(sorted(self.nodes) or ["n0"]))

    def put_node(self, new: Node) -> Happening | None:
        old = self.nodes.get(new.name)
        self.nodes[new.name] = new
        self.cache.set_node(new)
        event = node_event(old, new)
        return None if event is None else Happening(event, old, new)

    def remove_node(self) -> Happening | None:
        if not self.nodes:
            return None
        old = self.nodes.pop(self.rng.choice(sorted(self.nodes)))
        self.cache.remove_node(old.name)
        event = node_event(old, None)
        return None if event is None else Happening(event, old, None)

    def change_node(self) -> Happening | None:
        """Change one thing of a node, as most changes do."""
        if not self.nodes:
            return None
        old = self.nodes[self.rng.choice(sorted(self.nodes))]
        drawn = random_node(self.rng, old.name)
        changed = self.rng.choice(
            (
                msgspec.structs.replace(old, metadata=drawn.metadata),
                msgspec.structs.replace(old, spec=drawn.spec),
                msgspec.structs.replace(old, status=drawn.status),
                drawn,
            )
        )
        return self.put_node(changed)

    def put_pod(self, new: Pod) -> Happening | None:
        old = self.pods.get(new.metadata.name)
        self.pods[new.metadata.name] = new
        self.cache.set_pod(new)
        event = assigned_pod_event(old, new)
        return None if event is None else Happening(event, old, new)

    def change_pod(self) -> Happening | None:
        """Change the labels or the requests of a placed pod, or begin to delete it."""
        if not self.pods:
            return None
        old = self.pods[self.rng.choice(sorted(self.pods))]
        drawn = random_pod(self.rng, old.metadata.name)
        labels = msgspec.structs.replace(old.metadata, labels=drawn.labels)
        going = msgspec.structs.replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        return self.put_pod(
            self.rng.choice(
                (
                    msgspec.structs.replace(old, metadata=labels),
                    msgspec.structs.replace(old, metadata=going),
                    msgspec.structs.replace(old, spec=_resized(old, drawn)),
                )
            )
        )

    def remove_pod(self) -> Happening | None:
        if not self.pods:
            return None
        old = self.pods.pop(self.rng.choice(sorted(self.pods)))
        self.cache.remove_pod(old)
        event = assigned_pod_event(old, None)
        return None if event is None else Happening(event, old, None)

    def change_waiting(self) -> Happening | None:
        """Change what may be changed of a pod that waits."""
        index = self.rng.randrange(len(self.waiting))
        old = self.waiting[index]
        drawn = random_pod(self.rng, old.metadata.name)
        tolerations = (*old.spec.tolerations, *drawn.spec.tolerations)
        self.waiting[index] = new = self.rng.choice(
            (
                msgspec.structs.replace(
                    old, metadata=msgspec.structs.replace(old.metadata, labels=drawn.labels)
                ),
                msgspec.structs.replace(old, spec=msgspec.structs.replace(old.spec, tolerations=tolerations)),
                msgspec.structs.replace(old, spec=_resized(old, drawn)),
            )
        )
        event = target_pod_event(old, new)
        return None if event is None else Happening(event, old, new)

    def changes(self) -> Iterable[Happening | None]:
        """Let things happen, one after the other."""
        kinds: tuple[Callable[[], Happening | None], ...] = (
            lambda: self.put_node(random_node(self.rng, f"n{self.rng.randrange(6)}")),
            self.remove_node,
            self.change_node,
            self.change_node,
            lambda: self.put_pod(self.placed(f"new-{self.rng.randrange(10**9)}")),
            self.change_pod,
            self.remove_pod,
            self.remove_pod,
            self.change_waiting,
        )
        for _ in range(CHANGES):
            yield self.rng.choice(kinds)()


def _resized(pod: Pod, like: Pod) -> object:
    return msgspec.structs.replace(
        pod.spec,
        containers=(msgspec.structs.replace(pod.containers[0], resources=like.containers[0].resources),),
    )


def test_a_change_that_makes_a_pod_schedulable_wakes_it() -> None:
    helped: Counter[str] = Counter()
    for seed in range(SEEDS):
        cluster = Cluster(seed)
        helped += woken(seed, cluster.framework, cluster.waiting, cluster.changes())
    # Each of them has been the one, or one of those, that had to be asked.
    for plugin in (
        "InterPodAffinity",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "PodTopologySpread",
        "TaintToleration",
    ):
        assert helped[plugin] >= 5, helped
