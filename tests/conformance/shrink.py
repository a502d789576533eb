"""From a scenario with a disagreement to the smallest one, within reason, that still has it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from tests.conformance.model import Case, Json, Record, Scenario, World, key_of

__all__ = ["alone", "as_case", "shrink"]

T = TypeVar("T")

_BUDGET = 250


def alone(record: Record, index: int) -> Scenario:
    """Return a scenario of that attempt alone: the pods that came before are placed already."""
    manifests = {key_of(pod): pod for pod in record.scenario.incoming}
    placed = list(record.scenario.placed)
    for attempt in record.attempts[:index]:
        if attempt.answer.choice:
            pod = copy.deepcopy(manifests[key_of(attempt.pod)])
            pod["spec"]["nodeName"] = attempt.answer.choice
            placed.append(pod)
    pod = manifests[key_of(record.attempts[index].pod)]
    return msgspec.structs.replace(record.scenario, placed=placed, incoming=[pod])


def shrink(scenario: Scenario, differs: Callable[[Scenario], bool], *, budget: int = _BUDGET) -> Scenario:
    """Return the scenario with as much left out as leaves `differs` true; asks it at most `budget` times."""
    asked = 0
    while True:
        for candidate in _smaller(scenario):
            if asked == budget:
                return scenario
            asked += 1
            if differs(candidate):
                scenario = candidate
                break
        else:
            return scenario


def as_case(record: Record, about: str) -> Case:
    """Return the record of a scenario with one pod as a case to keep, without what can't bear on it."""
    attempt = record.attempts[0]
    pods = [*record.world.pods, attempt.pod]
    namespaces = {pod["metadata"]["namespace"] for pod in pods}
    claims = {
        (pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"])
        for pod in pods
        for volume in pod["spec"].get("volumes", ())
        if "persistentVolumeClaim" in volume
    }
    objects = [obj for obj in record.world.objects if _matters(obj, namespaces, claims)]
    world = World(objects=objects, nodes=record.world.nodes, pods=record.world.pods)
    return Case(about=about, world=world, attempt=attempt)


def _matters(obj: Json, namespaces: set[str], claims: set[tuple[str, str]]) -> bool:
    metadata = obj["metadata"]
    if obj["kind"] == "PersistentVolumeClaim":
        return (metadata["namespace"], metadata["name"]) in claims
    if obj["kind"] == "PersistentVolume":
        return bool(claims)
    return metadata.get("namespace", "") in {"", *namespaces}


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with one thing left out, the large things first."""
    for placed in _without_some(scenario.placed):
        yield msgspec.structs.replace(scenario, placed=placed)
    for nodes in _without_some(scenario.nodes):
        names = {node["metadata"]["name"] for node in nodes}
        placed = [pod for pod in scenario.placed if pod["spec"]["nodeName"] in names]
        yield msgspec.structs.replace(scenario, nodes=nodes, placed=placed)
    for field in ("incoming", "placed", "nodes"):
        items = getattr(scenario, field)
        for index, item in enumerate(items):
            for simpler in _simpler(item):
                changed = {field: [*items[:index], simpler, *items[index + 1 :]]}
                yield msgspec.structs.replace(scenario, **changed)


def _without_some(items: Sequence[T]) -> Iterator[list[T]]:
    """Without halves, then quarters, down to single items."""
    size = len(items)
    while size:
        size = (size + 1) // 2 if size > 1 else 1
        for start in range(0, len(items), size):
            yield [*items[:start], *items[start + size :]]
        if size == 1:
            return


def _simpler(manifest: Json) -> Iterator[Json]:
    """Yield the manifest without each of its parts; those that the API server then refuses are no loss."""
    for path in _paths({name: manifest[name] for name in ("spec", "status", "metadata") if name in manifest}):
        if path[-1] not in {"spec", "metadata", "name", "namespace", "nodeName"}:
            simpler = copy.deepcopy(manifest)
            place: Any = simpler
            for step in path[:-1]:
                place = place[step]
            del place[path[-1]]
            yield simpler


def _paths(value: object) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each part below `value`, parts before what is in them."""
    parts: Iterator[tuple[str | int, object]] = iter(())
    if isinstance(value, dict):
        parts = iter(value.items())
    elif isinstance(value, list):
        parts = iter(enumerate(value))
    for step, part in parts:
        yield (step,)
        for rest in _paths(part):
            yield (step, *rest)
