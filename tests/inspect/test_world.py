from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.errors import ApiError, ClusterError, ConfigurationError
from webhook.inspect.snapshot import SnapshotWriter
from webhook.inspect.world import CREATION_KINDS, World
from webhook.scheduling.kinds import KINDS, NODE_METRICS_PATH
from webhook.scheduling.testing import make_pod

NODE = {"metadata": {"name": "node-1", "uid": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
POD = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "p1"},
    "spec": {"nodeName": "node-1"},
    "status": {"phase": "Running"},
}
ITEMS: dict[str, list[Any]] = {
    "nodes": [NODE, {"metadata": {"name": "node-2"}}],
    "pods": [POD],
    "services": [
        {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}},
    ],
    "persistentvolumes": [{"metadata": {"name": "disk"}}],
    "namespaces": [{"metadata": {"name": "shop", "labels": {"team": "a"}}}],
    "priorityclasses": [{"metadata": {"name": "usual"}, "value": 5, "globalDefault": True}],
}


METRICS = [{"metadata": {"name": "node-1"}, "timestamp": "now", "window": "15s", "usage": {"memory": "1Gi"}}]


def answer(exchange: Exchange, items: dict[str, list[Any]] = ITEMS) -> None:
    if exchange.path == NODE_METRICS_PATH:
        exchange.reply(200, {"kind": "NodeMetricsList", "metadata": {}, "items": METRICS})
        return
    lists = [(kind.plural, kind.path, kind.name) for kind in KINDS]
    lists += [(plural, f"{api}/{plural}", type_.__name__) for plural, api, type_ in CREATION_KINDS]
    ((plural, _, name),) = (each for each in lists if each[1] == exchange.path)
    found, token = items.get(plural, []), exchange.query.get("continue")
    # Two items take two pages.
    part = found[1:] if token else found[:1]
    more = "more" if not token and len(found) > 1 else ""
    exchange.reply(200, {"kind": f"{name}List", "metadata": {"continue": more}, "items": part})


def silent(_text: str) -> None:
    pass


def assert_is_whole(world: World) -> None:
    assert len(world.cache.table) == 2
    assert list(world.pods) == ["shop/web"]
    assert len(world.cache.table.pods_on("node-1")) == 1
    assert world.cache.storage.volume("disk") is not None
    assert world.cache.namespaces.labels("shop") == {"team": "a"}
    assert world.defaults.apply(make_pod()).priority == 5


def test_a_cluster_is_read_by_lists_alone_page_by_page() -> None:
    world = World(silent)

    with FakeApi(answer) as api:
        world.read_cluster(api.client())

    assert_is_whole(world)


def test_a_snapshot_tells_the_same_as_the_cluster_did(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    with FakeApi(answer) as api, SnapshotWriter(file) as save_to:
        World(silent).read_cluster(api.client(), save_to=save_to)
    world = World(silent)

    world.read_snapshot(file)

    assert_is_whole(world)


def test_how_far_the_reading_has_come_is_told() -> None:
    told: list[str] = []

    with FakeApi(answer) as api:
        World(told.append).read_cluster(api.client())

    assert told[:3] == ["1 nodes read", "2 nodes read", "1 pods read"]


def test_a_right_that_is_missing_is_told() -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(403, "nodes is forbidden", "Forbidden")) as api,
        pytest.raises(ApiError, match="nodes is forbidden"),
    ):
        World(silent).read_cluster(api.client())


def test_a_list_that_grew_too_old_is_told() -> None:
    with (
        FakeApi(lambda exchange: exchange.refuse(410, "too old", "Expired")) as api,
        pytest.raises(ClusterError, match=r"the list of nodes grew too old while it was read \(410\)"),
    ):
        World(silent).read_cluster(api.client())


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    broken = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "much"}}}
    file.write_text(json.dumps({"items": [{"kind": "NodeList", "items": [broken]}]}))

    with pytest.raises(ConfigurationError, match=r"s\.json: its nodes can't be read .*much"):
        World(silent).read_snapshot(file)


def test_kinds_that_no_plugin_reads_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    lists = [{"kind": "NodeList", "items": [NODE]}, {"kind": "SecretList", "items": [3]}]
    file.write_text(json.dumps({"items": lists}))
    world = World(silent)

    world.read_snapshot(file)

    assert len(world.cache.table) == 1


def test_a_snapshot_without_nodes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"items": []}')

    with pytest.raises(ConfigurationError, match="holds no NodeList"):
        World(silent).read_snapshot(file)


def test_what_nodes_use_is_read_where_a_plugin_asks_for_it() -> None:
    world = World(silent)
    world.cache.memory.begin()

    with FakeApi(answer) as api:
        world.read_cluster(api.client())

    assert world.cache.memory.estimates().tolist() == [2**30, 0]
    assert world.notes == []


def test_what_nodes_use_is_saved_for_plugins_that_will_ask_for_it(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    with FakeApi(answer) as api, SnapshotWriter(file) as snapshot:
        World(silent).read_cluster(api.client(), save_to=snapshot)
    world = World(silent)
    world.cache.memory.begin()

    world.read_snapshot(file)

    assert world.cache.memory.estimates().tolist() == [2**30, 0]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_cluster_without_metrics_is_read_and_a_note_says_so_where_they_are_missed(
    wanted: bool, tmp_path: Path
) -> None:
    def without_metrics(exchange: Exchange) -> None:
        if exchange.path == NODE_METRICS_PATH:
            exchange.refuse(404)
        else:
            answer(exchange)

    world = World(silent)
    if wanted:
        world.cache.memory.begin()
    with FakeApi(without_metrics) as api, SnapshotWriter(tmp_path / "cluster.json") as snapshot:
        world.read_cluster(api.client(), save_to=snapshot)

    assert_is_whole(world)
    assert [note.partition(":")[0] for note in world.notes] == [
        "node metrics can't be read, so nodes are ranked by requests meanwhile"
    ] * wanted


def test_metrics_that_are_none_are_named() -> None:
    def garbled(exchange: Exchange) -> None:
        if exchange.path == NODE_METRICS_PATH:
            exchange.reply(200, b"<html>")
        else:
            answer(exchange)

    world = World(silent)
    world.cache.memory.begin()
    with FakeApi(garbled) as api, pytest.raises(ClusterError, match="its node metrics can't be read"):
        world.read_cluster(api.client())
