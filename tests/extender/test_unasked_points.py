from __future__ import annotations

import random

import pytest

from webhook.extender.unasked_points import tell_of_unasked_points
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugin_set import PluginSet
from webhook.scheduling.profile import build_framework
from webhook.scheduling.status import SUCCESS, Status


class Calm:
    """Has what an extender is asked for."""

    def filter_node(self, _pod: Pod, _node: NodeInfo) -> None: ...

    def score_node(self, _pod: Pod, _node: NodeInfo) -> float:
        return 0


class Gang(Calm):
    """Has more than that."""

    def permit(self, _pod: Pod, _node_name: str) -> Status:
        return SUCCESS

    def pre_enqueue(self, _pod: Pod) -> Status:
        return SUCCESS


class Oldest(Calm):
    """Sorts the queue."""

    def sort_key(self, _pod: Pod, queued_at: float) -> tuple[float]:
        return (queued_at,)


def plugins_of(only: PluginSetConfig | None = None, /, **others: object) -> PluginSet:
    """Return the plugins of a profile that has those of others beside the default ones, or beside `only`."""
    registry = load_plugins()
    for name, made in others.items():
        registry.register(name, lambda _args, _handle, made=made: made)
    profile = Profile(
        plugins=PluginsConfig(
            multi_point=only or PluginSetConfig(enabled=tuple(PluginRef(name=name) for name in others))
        )
    )
    return build_framework(profile, registry, Cache(), random.Random(0)).plugins


def test_a_plugin_is_told_of_with_the_points_that_are_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tell_of_unasked_points(plugins_of(Gang=Gang()))

    (message,) = caplog.messages
    assert message == (
        "plugin Gang does nothing at PreEnqueue, Permit here: "
        "kube-scheduler asks an extender for filters and scores only"
    )


def test_one_that_sorts_the_queue_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    only = PluginSetConfig(enabled=(PluginRef(name="Oldest"),), disabled=(PluginRef(name="*"),))

    tell_of_unasked_points(plugins_of(only, Oldest=Oldest()))

    assert [message.split(":")[0] for message in caplog.messages] == [
        "plugin Oldest does nothing at QueueSort here"
    ]


def test_one_that_filters_and_scores_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    tell_of_unasked_points(plugins_of(Calm=Calm()))

    assert caplog.messages == []


def test_what_is_built_in_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    tell_of_unasked_points(plugins_of())

    assert caplog.messages == []
