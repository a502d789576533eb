"""Clusters and pods drawn at random: the same for the same seed."""

from __future__ import annotations

from random import Random

from tests.conformance.features import Features, Sketch
from tests.conformance.model import Json, Scenario
from tests.conformance.neighbour_features import NEIGHBOUR_FEATURES
from tests.conformance.node_features import NODE_FEATURES, node
from tests.conformance.placed_features import INCOMING_FEATURES, PLACED_FEATURES
from tests.conformance.pod_features import POD_FEATURES, pod

__all__ = ["ALL_FEATURES", "scenario"]

_REGISTERS = (NODE_FEATURES, POD_FEATURES, NEIGHBOUR_FEATURES, PLACED_FEATURES, INCOMING_FEATURES)

ALL_FEATURES = tuple(sorted(name for register in _REGISTERS for name in register.by_name))
"""What is counted in a run's coverage."""

_NO_NODES = 0.02


def scenario(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    return _Drawing(seed).scenario()


class _Drawing:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = Random(seed)
        self._features: set[str] = set()
        # Host ports of placed pods, by node.
        self._taken: set[tuple[str, int]] = set()

    def scenario(self) -> Scenario:
        rng = self._rng
        count = 0 if rng.random() < _NO_NODES else rng.randint(1, 9)
        names = [f"s{self._seed}-n{number}" for number in range(count)]
        return Scenario(
            name=f"seed {self._seed}",
            nodes=[self._node(name) for name in names],
            placed=[self._placed(f"s{self._seed}-placed{number}", names) for number in range(2 * count)],
            incoming=[self._incoming(f"s{self._seed}-p{number}", names) for number in range(12)],
            features=frozenset(self._features),
        )

    def _node(self, name: str) -> Json:
        sketch = Sketch(manifest={}, rng=self._rng)
        node(sketch, name)
        self._apply(NODE_FEATURES, sketch, most=3)
        return sketch.manifest

    def _placed(self, name: str, nodes: list[str]) -> Json:
        sketch = Sketch(manifest={}, rng=self._rng, nodes=nodes)
        pod(sketch, name)
        sketch.spec["nodeName"] = sketch.one(nodes)
        self._apply(POD_FEATURES, sketch, most=2)
        self._apply(NEIGHBOUR_FEATURES, sketch, most=1)
        self._apply(PLACED_FEATURES, sketch, most=1)
        self._without_clashes(sketch)
        return sketch.manifest

    def _incoming(self, name: str, nodes: list[str]) -> Json:
        sketch = Sketch(manifest={}, rng=self._rng, nodes=nodes)
        pod(sketch, name)
        self._apply(POD_FEATURES, sketch, most=2)
        self._apply(NEIGHBOUR_FEATURES, sketch, most=sketch.one((1, 2)))
        self._apply(INCOMING_FEATURES, sketch, most=1)
        return sketch.manifest

    def _without_clashes(self, sketch: Sketch) -> None:
        """Take the host ports from a pod whose node has one of them in use already.

        No kubelet starts such a pod, and kube-scheduler counts no ports: it takes one for free once either pod is gone.
        """
        containers = (*sketch.spec["containers"], *sketch.spec.get("initContainers", ()))
        numbers = {port["containerPort"] for each in containers for port in each.get("ports", ())}
        ports = {(sketch.spec["nodeName"], number) for number in numbers}
        if ports & self._taken:
            for container in containers:
                container.pop("ports", None)
        else:
            self._taken |= ports

    def _apply(self, features: Features, sketch: Sketch, *, most: int) -> None:
        self._features |= features.apply(sketch, most=most)
