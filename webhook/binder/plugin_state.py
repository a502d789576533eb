"""What there is to say of a plugin that is running or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.scheduling.config import PluginsConfig
from webhook.scheduling.framework import Framework

__all__ = ["PluginState", "Use", "uses_of"]

_POINTS = {field.name: field.encode_name for field in msgspec.structs.fields(PluginsConfig)}


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a profile uses the plugin; the weight counts where it scores."""

    profile: str
    extension_points: list[str]
    weight: int | None
    args: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginState:
    """One plugin, or what brought none and is refused: a unit of a source, or the configuration. Its `name` is empty then.

    `state` is `in use`, `registered` (no profile has it), `suspended`, `refused`, or `loading` if that takes too long.
    `fault` says what is wrong, also with a newer version while another one is in use. `text` is what the plugin says
    of itself. One call in ten is timed.
    """

    name: str
    source: str
    version: str
    state: str
    fault: str = ""
    timed_calls: int = 0
    seconds: float = 0.0
    over_budget: int = 0
    failures: int = 0
    text: str = ""
    uses: Sequence[Use] = ()

    @property
    def milliseconds(self) -> float:
        """What a timed call has taken in the mean; there has to be one."""
        return 1000 * self.seconds / self.timed_calls


def uses_of(name: str, frameworks: Mapping[str, Framework]) -> list[Use]:
    """Return how these profiles use the plugin."""
    return [
        _use(name, profile, framework)
        for profile, framework in frameworks.items()
        if name in framework.plugins.made
    ]


def _use(name: str, profile: str, framework: Framework) -> Use:
    points = []
    weight = None
    for field, point in _POINTS.items():
        enabled = getattr(framework.plugins, field, ())
        for each in enabled if isinstance(enabled, tuple) else (enabled,):
            if each.name == name:
                points.append(point)
                weight = each.weight if field == "score" else weight
    return Use(
        profile=profile, extension_points=points, weight=weight, args=framework.plugins.made[name].args
    )
