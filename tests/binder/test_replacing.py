"""Other plugins while pods wait, are decided on, and are being bound."""

from __future__ import annotations

import random
import threading

from tests.binder.scheduler import created, framework_sorted_by, pod, scheduling
from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import PluginRef, PluginsConfig, PluginSetConfig, Profile
from webhook.scheduling.framework import Framework
from webhook.scheduling.made import close_plugins
from webhook.scheduling.nodes import NodeInfo
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import DEFAULT_PLUGINS, build_framework
from webhook.scheduling.status import SUCCESS, Code, Status, wait
from webhook.scheduling.testing import make_framework, make_node

DEFAULTS = [ref.name for ref in DEFAULT_PLUGINS]


class Never:
    """Rejects every node, and is woken by nothing that happens here."""

    def events_to_register(self) -> tuple[()]:
        return ()

    def filter_node(self, _pod: Pod, _node: NodeInfo) -> str | None:
        return "never"


class Gate:
    def events_to_register(self) -> tuple[()]:
        return ()

    def pre_enqueue(self, _pod: Pod) -> Status:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("closed",))


class Hold:
    """Lets pods wait until somebody allows them."""

    def permit(self, _pod: Pod, _node_name: str) -> Status:
        return wait(600)


class Account:
    """Takes note of whom it is told about."""

    def __init__(self) -> None:
        self.reserved: list[str] = []
        self.unreserved: list[str] = []

    def reserve(self, pod: Pod, _node_name: str) -> Status:
        self.reserved.append(pod.metadata.name)
        return SUCCESS

    def unreserve(self, pod: Pod, _node_name: str) -> None:
        self.unreserved.append(pod.metadata.name)


class Closing(Account):
    """Takes note of how many it had been told to take back when it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: list[int] = []

    def close(self) -> None:
        self.closed.append(len(self.unreserved))


class LastFirst:
    """Sorts the younger pod before the older one."""

    def sort_key(self, _pod: Pod, queued_at: float) -> tuple[float, ...]:
        return (-queued_at,)


def last_first(cache: Cache) -> Framework:
    return framework_sorted_by(LastFirst(), cache)


def without(name: str, running: Framework, cache: Cache) -> Framework:
    """The same framework, with the same plugins but one."""
    registry = load_plugins()
    others = {each: made for each, made in running.plugins.made.items() if each not in (name, *DEFAULTS)}
    for made in others.values():
        registry.add(made.registration)
    enabled = tuple(PluginRef(name=each) for each in others)
    profile = Profile(plugins=PluginsConfig(multi_point=PluginSetConfig(enabled=enabled)))
    return build_framework(profile, registry, cache, random.Random(0), previous=running)


def test_a_pod_that_an_unloaded_plugin_rejected_is_tried_again() -> None:
    with scheduling(Never=Never()) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        assert scheduler.expect_condition("a")["message"] == "0/1 nodes are available: 1 never."

        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache)})
        scheduler.pass_time(1)

        scheduler.expect_bindings("a on node-1")


def test_a_pod_that_an_unloaded_plugin_kept_out_of_the_queue_comes_in() -> None:
    with scheduling(Gate=Gate()) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()
        assert scheduler.bindings_sent() == []

        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache)})

        scheduler.expect_bindings("a on node-1")


def test_a_plugin_that_is_loaded_decides_on_the_next_pod() -> None:
    with scheduling() as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.expect_bindings("a on node-1")

        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache, Never=Never())})
        scheduler.add(pod("b"))

        assert scheduler.expect_condition("b")["message"] == "0/1 nodes are available: 1 never."


def test_a_pod_that_waits_for_an_unloaded_plugin_is_decided_on_anew() -> None:
    with scheduling(Hold=Hold()) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()
        assert [waiting.pod.metadata.name for waiting in scheduler.cache.waiting_pods] == ["a"]

        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache)})

        scheduler.expect_bindings("a on node-1")


def test_a_pod_that_waits_for_a_plugin_that_stays_goes_on_waiting() -> None:
    account = Account()
    with scheduling(Hold=Hold(), Account=account) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()
        same = scheduler.loop._frameworks["custom-scheduler"]

        scheduler.loop.replace({"custom-scheduler": same})
        scheduler.settle()

        assert len(list(scheduler.cache.waiting_pods)) == 1
        assert account.unreserved == []


class HeldBinding:
    """Answers a binding only once it is told that the plugins were replaced, and with a refusal; those that follow at once."""

    def __init__(self) -> None:
        self.sent, self.replaced = threading.Event(), threading.Event()

    def __call__(self, exchange: Exchange) -> None:
        if self.sent.is_set():
            created(exchange)
            return
        self.sent.set()
        assert self.replaced.wait(PATIENCE_SECONDS)
        exchange.refuse(500)


def test_a_binding_under_way_ends_with_the_plugins_it_began_with() -> None:
    old, new, held = Account(), Account(), HeldBinding()

    with scheduling(held, Account=old) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        assert held.sent.wait(PATIENCE_SECONDS)
        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache, Account=new)})
        scheduler.settle()
        held.replaced.set()
        scheduler.expect_result()

    assert old.unreserved == old.reserved
    assert new.unreserved == []


def test_a_plugin_that_is_replaced_is_released_at_once_where_no_pod_is_on_its_way_with_it() -> None:
    with scheduling(Closing=Closing()) as scheduler:
        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache)})
        scheduler.settle()

        assert "Closing" in [made.registration.name for made in scheduler.released]


def test_a_plugin_that_stays_is_not_released() -> None:
    with scheduling(Closing=Closing()) as scheduler:
        same = scheduler.loop._frameworks["custom-scheduler"]
        scheduler.loop.replace({"custom-scheduler": same})
        scheduler.settle()

        assert scheduler.released == []


def test_a_plugin_is_released_only_after_the_binding_that_began_with_it() -> None:
    closing, held = Closing(), HeldBinding()

    with scheduling(held, Closing=closing) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        assert held.sent.wait(PATIENCE_SECONDS)
        scheduler.loop.replace({"custom-scheduler": make_framework(scheduler.cache)})
        scheduler.settle()
        assert scheduler.released == []
        held.replaced.set()
        scheduler.expect_result()

        close_plugins(scheduler.released)

    assert closing.closed == [1]


def test_a_plugin_is_released_only_after_the_wait_at_permit_that_began_with_it() -> None:
    closing = Closing()
    with scheduling(Hold=Hold(), Closing=closing) as scheduler:
        scheduler.add(make_node("node-1"), pod("a"))
        scheduler.settle()
        running = scheduler.loop._frameworks["custom-scheduler"]
        scheduler.loop.replace({"custom-scheduler": without("Closing", running, scheduler.cache)})
        scheduler.settle()
        assert [waiting.pod.metadata.name for waiting in scheduler.cache.waiting_pods] == ["a"]
        assert scheduler.released == []

        scheduler.delete(pod("a"))
        scheduler.settle()

        assert [made.registration.name for made in scheduler.released] == ["Closing"]


def test_pods_that_are_queued_are_put_into_the_new_order() -> None:
    with scheduling(leading=False) as scheduler:
        scheduler.add(make_node("node-1", pods="1"), pod("first"))
        scheduler.settle()
        scheduler.pass_time(1)
        scheduler.add(pod("second"))
        scheduler.settle()

        scheduler.loop.replace({"custom-scheduler": last_first(scheduler.cache)})
        scheduler.loop.lead(old_leader_may_act=False)

        scheduler.expect_bindings("second on node-1")
