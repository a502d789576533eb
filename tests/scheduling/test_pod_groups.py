from __future__ import annotations

import random

import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.labels import EVERYTHING, Selector
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import LabelSelectorRequirement, Pod
from webhook.scheduling.pod_groups import PodGroup, PodGroups, PodSelector
from webhook.scheduling.testing import make_cache, make_node, make_pod

ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def group(
    *labels: dict[str, str], namespaces: set[str] | None = None, with_terminating: bool = True
) -> PodGroup:
    chosen = None if namespaces is None else frozenset(namespaces)
    return PodGroup(
        tuple(PodSelector(chosen, EVERYTHING.requiring(each)) for each in labels), with_terminating
    )


def counts(cache: Cache, of: PodGroup) -> dict[str, int]:
    nodes = Nodes(cache.table)
    return dict(zip(nodes.names, nodes.pods_matching(of).tolist(), strict=True))


def web(name: str, node: str, **others: str) -> Pod:
    return make_pod(name, node=node, labels={"app": "web", **others})


def test_pods_count_on_their_node_by_labels_and_namespace() -> None:
    cache = make_cache(
        make_node("a"),
        make_node("b"),
        pods=[
            web("1", "a"),
            web("2", "b", tier="x"),
            web("3", "b"),
            make_pod("4", node="b", labels={"app": "db"}),
            make_pod("5", node="a", namespace="other", labels={"app": "web"}),
        ],
    )

    assert counts(cache, group({"app": "web"}, namespaces={"default"})) == {"a": 1, "b": 2}
    assert counts(cache, group({"app": "web"}, namespaces={"default", "other"})) == {"a": 2, "b": 2}
    assert counts(cache, group({"app": "web"})) == {"a": 2, "b": 2}
    assert counts(cache, group({"app": "web"}, namespaces=set())) == {"a": 0, "b": 0}
    assert counts(cache, group({"app": "web"}, {"tier": "x"})) == {"a": 0, "b": 1}


def test_pods_that_come_and_go_are_counted_along() -> None:
    cache = make_cache(make_node("a"), pods=[web("1", "a")])
    asked = group({"app": "web"}, namespaces={"default"})
    before = counts(cache, asked)

    cache.set_pod(web("2", "a", tier="new"))
    cache.assume(make_pod("3", labels={"app": "web"}), "a")
    more = counts(cache, asked)
    cache.remove_pod(web("1", "a"))
    cache.set_pod(make_pod("2", node="a", labels={"app": "other"}))

    assert (before, more, counts(cache, asked)) == ({"a": 1}, {"a": 3}, {"a": 1})


def test_a_pod_that_is_being_deleted_counts_only_where_it_is_asked_for() -> None:
    cache = make_cache(make_node("a"), pods=[web("1", "a"), web("2", "a")])
    staying = group({"app": "web"}, with_terminating=False)
    before = counts(cache, staying)

    cache.set_pod(make_pod("2", node="a", labels={"app": "web"}, metadata=ENDING))

    assert (before, counts(cache, staying)) == ({"a": 2}, {"a": 1})
    assert counts(cache, group({"app": "web"})) == {"a": 2}


def test_pods_of_a_node_that_went_count_again_when_it_returns() -> None:
    cache = make_cache(make_node("a"), make_node("b"), pods=[web("1", "a"), web("2", "a"), web("3", "b")])
    asked = group({"app": "web"})
    counts(cache, asked)

    cache.remove_node("a")
    without = counts(cache, asked)
    cache.remove_pod(web("1", "a"))
    cache.set_node(make_node("a"))

    assert without == {"b": 1}
    assert counts(cache, asked) == {"b": 1, "a": 1}


def test_a_group_that_made_room_for_others_is_counted_afresh() -> None:
    groups = PodGroups({"a": 0}.get, limit=1)
    groups.node_added(iter(()))
    first, second = group({"app": "web"}), group({"app": "db"})
    groups.place(web("1", "a"), "a")
    groups.counts(first)

    groups.counts(second)
    groups.place(web("2", "a"), "a")
    groups.release(web("1", "a"), "a")
    groups.place(web("3", "a"), "a")

    assert groups.counts(first).tolist() == [2]
    assert groups.counts(second).tolist() == [0]


@pytest.mark.parametrize("seed", range(8))
def test_after_anything_that_may_happen_the_counts_are_those_of_a_fresh_look(seed: int) -> None:
    rng = random.Random(seed)
    cache = Cache()
    # Fewer than the groups that are asked for, so that some are always on their way out.
    cache.table.pod_groups = PodGroups(cache.table.row_of, limit=3)
    not_x = Selector((), (LabelSelectorRequirement(key="tier", operator="NotIn", values=("x",)),))
    asked = [
        group({"app": "web"}, namespaces={"default"}),
        group({"app": "web"}, namespaces={"default", "other"}, with_terminating=False),
        group({"tier": "x"}),
        group({"app": "db"}, {"tier": "y"}),
        PodGroup((PodSelector(frozenset({"other"}), not_x),)),
        PodGroup((PodSelector(None, EVERYTHING),), with_terminating=False),
    ]

    def random_pod(name: str, node: str) -> Pod:
        labels = {"app": rng.choice(["web", "db"]), "tier": rng.choice("xy")}
        metadata = ENDING if rng.random() < 0.2 else {}
        namespace = "other" if int(name) % 3 == 0 else "default"
        return make_pod(name, namespace=namespace, node=node, labels=labels, metadata=metadata)

    for _ in range(400):
        node, name = rng.choice("abcdef"), str(rng.randrange(30))
        match rng.randrange(8):
            case 0:
                cache.set_node(make_node(node))
            case 1:
                cache.remove_node(node)
            case 2:
                cache.remove_pod(random_pod(name, node))
            case 3:
                pod = random_pod(name, "")
                if cache.node_of(pod.metadata.uid) is None:
                    cache.assume(pod, node)
            case 4:
                cache.forget(random_pod(name, ""))
            case _:
                cache.set_pod(random_pod(name, node))
        chosen = rng.choice(asked)

        counted = counts(cache, chosen)

        assert counted == {
            info.name: sum(
                all(part.matches(pod.metadata.namespace, pod.labels) for part in chosen.selectors)
                and (chosen.with_terminating or not pod.is_terminating)
                for pod in info.pods
            )
            for info in Nodes(cache.table)
        }
