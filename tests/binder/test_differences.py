from __future__ import annotations

import random

import msgspec
import pytest

from webhook.binder.differences import differences
from webhook.scheduling.config import Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.profile import build_frameworks
from webhook.scheduling.registry import Registry
from webhook.scheduling.testing import make_cache

REGISTRY = Registry()
register_built_in(REGISTRY)
CACHE = make_cache()


def profile(*enabled: str, label: str = "disk", **weights: int) -> Profile:
    arguments = [{"name": "NodeLabel", "args": {"labels": [label]}}] if "NodeLabel" in enabled else []
    named = ["PrioritySort", *enabled]
    described = {
        "schedulerName": "ours",
        "plugins": {
            "multiPoint": {"enabled": [{"name": name} for name in named], "disabled": [{"name": "*"}]},
            "score": {"enabled": [{"name": name, "weight": weight} for name, weight in weights.items()]},
        },
        "pluginConfig": arguments,
    }
    return msgspec.convert(described, Profile)


def build(described: Profile, previous: dict[str, Framework] | None = None) -> dict[str, Framework]:
    return build_frameworks([described], REGISTRY, CACHE, random.Random(0), previous=previous)


def told(old: Profile, new: Profile) -> list[str]:
    before = build(old)
    return list(differences(before["ours"].plugins, build(new, before)["ours"].plugins))


@pytest.mark.parametrize(
    ("old", "new", "phrases"),
    [
        (profile("NodeLabel"), profile("NodeLabel"), []),
        (profile(), profile("NodeLabel"), ["plugin NodeLabel is in use"]),
        (profile("NodeLabel"), profile(), ["plugin NodeLabel is not in use any more"]),
        (profile("NodeLabel"), profile("NodeLabel", label="zone"), ["plugin NodeLabel was made anew"]),
        (
            profile("ImageLocality", "NodeAffinity"),
            profile("ImageLocality", "NodeAffinity", NodeAffinity=3),
            ["score runs NodeAffinity (weight 3), ImageLocality (weight 1)"],
        ),
        (
            profile("NodeLabel", "NodeUnschedulable"),
            profile("NodeUnschedulable", "NodeLabel"),
            ["filter runs NodeUnschedulable, NodeLabel"],
        ),
    ],
    ids=["nothing", "comes", "goes", "other arguments", "weight", "order"],
)
def test_what_is_different_is_told_once_and_in_the_words_of_the_file(
    old: Profile, new: Profile, phrases: list[str]
) -> None:
    assert told(old, new) == phrases
