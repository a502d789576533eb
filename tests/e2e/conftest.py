"""One control plane and one installation for all end-to-end tests; each test has a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation

_numbers = itertools.count(1)

NamespaceFactory = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(nodes=0) as cluster:
        for number in range(1, 7):
            cluster.add_node(f"node-{number}", labels={"custom": "yes"} if number % 2 else {})
        yield cluster


@pytest.fixture(scope="session")
def installation(cluster: DevCluster) -> Iterator[Installation]:
    with Installation(cluster) as installation:
        yield installation


@pytest.fixture
def namespace(cluster: DevCluster, installation: Installation) -> Iterator[NamespaceFactory]:
    """Make namespaces with labels (`enforce="deny"`, `opt_in="true"`); they go when the test ends."""
    made: list[str] = []

    def make(**labels: str) -> str:
        name = f"e2e-{next(_numbers)}"
        made.append(name)
        cluster.add_namespace(
            name,
            labels={f"custom-scheduler.io/{key.replace('_', '-')}": value for key, value in labels.items()},
        )
        return name

    yield make
    for name in made:
        cluster.kubectl("delete", "pods", "--all", "-n", name, "--grace-period=0", "--force")
        cluster.kubectl("delete", "namespace", name, "--wait=false")
