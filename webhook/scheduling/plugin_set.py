"""The plugins of one profile, made and put in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from webhook.scheduling.events import ClusterEventWithHint
from webhook.scheduling.made import Made
from webhook.scheduling.plugin import (
    BindPlugin,
    FilterPlugin,
    Local,
    NormalizePlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)

__all__ = ["Enabled", "PluginSet"]

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Enabled(Generic[P_co]):
    """A plugin at one extension point."""

    name: str
    plugin: P_co
    weight: int = 1


@dataclass(frozen=True, kw_only=True)
class PluginSet:
    """The plugins at each extension point."""

    queue_sort: Enabled[QueueSortPlugin]
    pre_enqueue: tuple[Enabled[PreEnqueuePlugin], ...] = ()
    pre_filter: tuple[Enabled[PreFilterPlugin], ...] = ()
    filter: tuple[Enabled[FilterPlugin], ...] = ()
    post_filter: tuple[Enabled[PostFilterPlugin], ...] = ()
    pre_score: tuple[Enabled[PreScorePlugin], ...] = ()
    score: tuple[Enabled[ScorePlugin], ...] = ()
    reserve: tuple[Enabled[ReservePlugin], ...] = ()
    permit: tuple[Enabled[PermitPlugin], ...] = ()
    pre_bind: tuple[Enabled[PreBindPlugin], ...] = ()
    bind: tuple[Enabled[BindPlugin], ...] = ()
    post_bind: tuple[Enabled[PostBindPlugin], ...] = ()
    # By the name of the score plugin that they belong to.
    normalize: Mapping[str, NormalizePlugin]
    # By plugin; those that are missing look at more than one node at a time.
    local: Mapping[str, Local]
    # By plugin; one that is missing is woken by every event.
    events: Mapping[str, tuple[ClusterEventWithHint, ...]]
    # By plugin: where it came from.
    made: Mapping[str, Made]
