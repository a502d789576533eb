"""What is asked of both schedulers, and what they answer."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

__all__ = ["Answer", "Attempt", "Case", "Json", "Record", "Scenario", "World", "key_of"]

Json: TypeAlias = dict[str, Any]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and the pods to schedule on it one after the other, as manifests.

    A placed pod names its node. Its `status` is set after it is made; with a `deletionTimestamp` it is deleted and
    waits for a kubelet, which there is none of, to let it go.
    """

    name: str
    nodes: list[Json]
    placed: list[Json]
    incoming: list[Json]
    features: frozenset[str] = frozenset()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster before the first pod is scheduled, as the API server tells it; `objects` is what isn't node or pod."""

    objects: list[Json]
    nodes: list[Json]
    pods: list[Json]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a scheduler made of one pod.

    `scores` are by plugin and node, times the plugin's weight; empty where a single node was feasible. `reason` and
    `message` are those of the condition of a pod that has no node.
    """

    feasible: frozenset[str] = frozenset()
    choice: str = ""
    scores: dict[str, dict[str, int]] = {}
    reason: str = ""
    message: str = ""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, as the API server has it, and kube-scheduler's answer; a pod with a choice stays there for the next ones."""

    pod: Json
    answer: Answer


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All answers of kube-scheduler to a scenario, in the order in which it gave them."""

    scenario: Scenario
    world: World
    attempts: list[Attempt]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A single pod on a small cluster, which the two schedulers once saw differently, with kube-scheduler's answer."""

    about: str
    world: World
    attempt: Attempt


def key_of(obj: Json) -> str:
    """Return `namespace/name`, as logs name an object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
