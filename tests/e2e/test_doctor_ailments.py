"""`doctor` on the shipped manifests in a real API server: each ailment is planted, named, and taken back."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from devcluster.cluster import DevCluster
from devcluster.errors import RequestError
from tests.inspect.ailments import AILMENTS
from tests.inspect.installed import NAMESPACE, Json, collection_of, healthy, statuses
from tests.inspect.planting import Ailment, assert_told
from tests.program import custom_scheduler
from tests.waiting import eventually
from webhook.inspect.doctor import examine
from webhook.inspect.finding import Finding
from webhook.kube.config import connect


class Installed:
    """The objects of an installation in a real cluster, where no controller and no program of ours has a say."""

    def __init__(self, cluster: DevCluster) -> None:
        self._cluster = cluster
        self._before: dict[str, Json] = {}
        for item in healthy():
            cluster.request("POST", collection_of(item), item)
        for path, status in statuses():
            self._put(path, {**cluster.request("GET", path), "status": status})

    def change(self, path: str, edit: Callable[[Json], None]) -> None:
        item = self._remember(path)
        edit(item)
        self._put(path, item)

    def delete(self, path: str) -> None:
        self._remember(path)
        self._cluster.request("DELETE", path)

    def restore(self) -> None:
        """Take back what was changed and deleted."""
        for path, item in self._before.items():
            for key in ("uid", "resourceVersion"):
                del item["metadata"][key]
            try:
                there = self._cluster.request("GET", path)
            except RequestError:
                there = self._cluster.request("POST", collection_of(item), item)
            item["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
            self._put(path, item)
        self._before.clear()

    def _remember(self, path: str) -> Json:
        item: Json = self._cluster.request("GET", path)
        self._before.setdefault(path, copy.deepcopy(item))
        return item

    def _put(self, path: str, item: Json) -> None:
        written = self._cluster.request("PUT", path, item)
        if item["kind"] in ("Deployment", "PodDisruptionBudget"):
            written["status"] = item["status"]
            self._cluster.request("PUT", f"{path}/status", written)


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False, controller_manager=False) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def installed(cluster: DevCluster) -> Installed:
    return Installed(cluster)


def found(cluster: DevCluster) -> list[Finding]:
    with closing(connect(cluster.kubeconfig)) as client:
        return list(examine(client, NAMESPACE))


def test_all_is_well_where_nothing_is_wrong(cluster: DevCluster, installed: Installed) -> None:
    assert [each for each in found(cluster) if each.level != "ok"] == []


@pytest.mark.parametrize("ailment", AILMENTS, ids=lambda ailment: ailment.name)
def test_an_ailment_is_named_with_what_mends_it(
    cluster: DevCluster, installed: Installed, ailment: Ailment
) -> None:
    try:
        ailment.plant(installed)
        # What the API server lets an account do, it learns of by a watch.
        eventually(lambda: any(ailment.text in each.text for each in found(cluster)), ailment.text)
        assert_told(ailment, found(cluster))
    finally:
        installed.restore()
        eventually(lambda: all(each.level == "ok" for each in found(cluster)), "all to be well again")


def test_the_command_tells_the_same_to_people_and_to_machines(
    cluster: DevCluster, installed: Installed
) -> None:
    people = custom_scheduler("doctor", "--kubeconfig", cluster.kubeconfig)
    machine = custom_scheduler("doctor", "--kubeconfig", cluster.kubeconfig, "-o", "json")

    report = json.loads(machine.stdout)
    assert (people.returncode, machine.returncode) == (0, 0)
    assert report["proof"] is None
    assert [each["text"] for each in report["findings"]] == [
        line.split(": ", 1)[1] for line in people.stdout.splitlines() if not line.startswith("      fix: ")
    ]
