"""A control plane with the real cert-manager for the tests of each module, and a namespace that is enforced."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.certmanager.running import CertManager
from devcluster.cluster import DevCluster

ENFORCED = "enforced"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        cluster.add_namespace(ENFORCED, labels={"custom-scheduler.io/enforce": "deny"})
        yield cluster


@pytest.fixture(scope="module")
def cert_manager(cluster: DevCluster) -> Iterator[CertManager]:
    with CertManager(cluster) as cert_manager:
        yield cert_manager
