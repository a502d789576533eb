from __future__ import annotations

import random

import pytest

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Node
from webhook.scheduling.table import NodeTable, PlacedPod
from webhook.scheduling.testing import make_node, make_pod


def place(table: NodeTable, name: str, node: str, **requests: str) -> PlacedPod:
    placed = PlacedPod.of(make_pod(name, requests=requests, node=node), node)
    table.place(placed)
    return placed


def column(table: NodeTable, resource: str) -> dict[str, int]:
    nodes = Nodes(table)
    return dict(zip(nodes.names, nodes.requested(resource).tolist(), strict=True))


def test_columns_are_in_row_order() -> None:
    table = NodeTable()
    table.put(make_node("a", cpu="1"))
    table.put(make_node("b", cpu="2500m", memory="1Ki", pods="7"))

    assert table.amounts.allocatable("cpu").tolist() == [1000, 2500]
    assert table.amounts.allocatable("memory").tolist()[1] == 1024
    assert table.amounts.pod_limits().tolist() == [110, 7]
    assert table.amounts.allocatable("example.com/unheard-of").tolist() == [0, 0]


def test_removing_a_node_moves_the_last_row_with_all_it_holds() -> None:
    table = NodeTable()
    for name in "abc":
        table.put(make_node(name, labels={"name": name}, taints=[f"{name}:NoSchedule"], images={name: 1}))
    place(table, "p", "c", cpu="300m")
    table.labels("name")
    table.has_image("c")

    table.remove("a")

    assert Nodes(table).names == ["c", "b"]
    assert table.row_of("c") == 0
    assert column(table, "cpu") == {"c": 300, "b": 0}
    assert table.labels("name").equal("c").tolist() == [True, False]
    assert table.has_image("c").tolist() == [True, False]
    assert table.taints().where(lambda taints: taints[0].key == "c").tolist() == [True, False]


def test_a_row_that_is_used_again_starts_clean() -> None:
    table = NodeTable()
    table.put(make_node("old", resources={"example.com/gpu": "4"}))
    place(table, "p", "old", cpu="1", **{"example.com/gpu": "2"})
    table.remove("old")

    table.put(make_node("new"))

    assert column(table, "cpu") == {"new": 0}
    assert column(table, "example.com/gpu") == {"new": 0}
    assert table.amounts.allocatable("example.com/gpu").tolist() == [0]
    assert table.amounts.pod_counts().tolist() == [0]


def test_pods_of_a_node_that_went_count_again_when_it_returns() -> None:
    table = NodeTable()
    table.put(make_node("n"))
    kept = place(table, "kept", "n", cpu="1")
    gone = place(table, "gone", "n", cpu="2")

    table.remove("n")
    table.release(gone)
    table.put(make_node("n"))

    assert column(table, "cpu") == {"n": 1000}
    assert table.pods_on("n") == {kept.pod.metadata.uid: kept}


def test_an_update_replaces_labels_taints_images_and_what_is_offered() -> None:
    table = NodeTable()
    table.put(make_node("n", labels={"a": "1"}, taints=["x:NoSchedule"], images={"old": 1}))
    table.put(make_node("other", labels={"a": "1"}, taints=["x:NoSchedule"], images={"old": 1, "new": 1}))
    place(table, "p", "n", cpu="1")
    table.labels("a")
    table.has_image("old")
    table.has_image("new")

    table.put(make_node("n", cpu="9", labels={"a": "2"}, images={"new": 1}, unschedulable=True))

    assert table.labels("a").equal("2").tolist() == [True, False]
    assert table.taints().equal(()).tolist() == [True, False]
    assert table.has_image("old").tolist() == [False, True]
    assert table.has_image("new").tolist() == [True, True]
    assert table.amounts.allocatable("cpu").tolist() == [9000, 4000]
    assert table.unschedulable().tolist() == [True, False]
    assert column(table, "cpu") == {"n": 1000, "other": 0}


def test_many_resources_and_nodes_grow_the_table() -> None:
    table = NodeTable()

    for index in range(200):
        table.put(make_node(f"n{index}", resources={f"example.com/r{index % 20}": str(index + 1)}))

    assert len(table) == 200
    assert table.amounts.allocatable("example.com/r19")[199] == 200
    assert table.amounts.allocatable("example.com/r19")[198] == 0
    assert table.amounts.allocatable("cpu").tolist() == [4000] * 200


def test_an_image_has_the_size_that_its_first_node_reported() -> None:
    table = NodeTable()
    table.put(make_node("a", images={"i": 10}))
    table.put(make_node("b", images={"i": 20}))

    state = table.images.get("i")

    assert state is not None
    assert (state.size, state.node_names) == (10, {"a", "b"})


def test_the_arrays_that_plugins_see_can_not_be_written_to() -> None:
    table = NodeTable()
    table.put(make_node("n"))
    nodes = Nodes(table)

    for column in (
        nodes.allocatable("cpu"),
        nodes.pod_counts,
        nodes.unschedulable,
        nodes.taints.ids,
        nodes.labels("l").ids,
    ):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    table.put(make_node("n", cpu="1"))


def test_every_change_is_noted_and_those_of_pods_apart_from_those_of_nodes() -> None:
    table = NodeTable()
    seen = [(table.node_changes.now, table.changes.now)]

    def note() -> None:
        seen.append((table.node_changes.now, table.changes.now))

    table.put(make_node("n"))
    note()
    table.put(make_node("n", cpu="9"))
    note()
    placed = place(table, "p", "n")
    note()
    table.release(placed)
    note()
    table.remove("n")
    note()

    of_nodes, all_changes = zip(*seen, strict=True)
    assert list(all_changes) == sorted(set(all_changes))
    assert of_nodes[2] == of_nodes[3] == of_nodes[4]
    assert len(set(of_nodes)) == 4


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_changes_leaves_what_a_fresh_table_would_hold(seed: int) -> None:
    rng = random.Random(seed)
    table, placed, nodes = NodeTable(), dict[str, PlacedPod](), dict[str, Node]()
    for step in range(400):
        name = f"n{rng.randrange(12)}"
        match rng.randrange(5):
            case 0 | 1:
                nodes[name] = make_node(
                    name, cpu=str(rng.randrange(1, 9)), labels={"v": str(rng.randrange(3))}
                )
                table.put(nodes[name])
            case 2:
                nodes.pop(name, None)
                table.remove(name)
            case 3:
                placed[f"p{step}"] = place(table, f"p{step}", name, cpu=f"{rng.randrange(1, 9)}00m")
            case 4 if placed:
                table.release(placed.pop(rng.choice(sorted(placed))))
        table.labels("v")

    fresh = NodeTable()
    for each in nodes.values():
        fresh.put(each)
    for one in placed.values():
        fresh.place(one)

    def content(subject: NodeTable) -> list[tuple[object, ...]]:
        view = Nodes(subject)
        columns = (
            view.allocatable("cpu"),
            view.requested("cpu"),
            view.pod_counts,
            view.labels("v").equal("1"),
        )
        return sorted(zip(view.names, *(each.tolist() for each in columns), strict=True))

    assert content(table) == content(fresh)
