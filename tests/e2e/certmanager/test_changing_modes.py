"""From self-signed certificates to those of cert-manager and back, step by step, with failurePolicy Fail: no call fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing

import pytest
from cryptography import x509

from devcluster.certmanager.running import CertManager
from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.certmanager.conftest import ENFORCED
from tests.e2e.certmanager.mounted import NAMESPACE, SERVING, MountedSecret, kustomization, renewed
from tests.e2e.service import Service
from tests.e2e.traffic import ca_bundle, no_call_fails
from tests.program import certs_rotate, certs_show, signer
from tests.waiting import eventually

pytestmark = [pytest.mark.cert_manager, pytest.mark.timeout(240)]

SETTLE_SECONDS = 3.0
LAG_SECONDS = 1.5
OPTIONS = ("--no-binder", "--drain-seconds", "1", "--ca-settle-seconds", str(SETTLE_SECONDS))
CONFIGURATIONS = "validatingwebhookconfiguration,mutatingwebhookconfiguration"


class Rollout:
    """Two replicas behind a Service, replaced one by one: the next one is ready before one of those before goes."""

    def __init__(self, cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.cluster = cluster
        self.service = Service()
        self.mounted = MountedSecret(cluster, tmp_path_factory.mktemp("tls"))
        self._tmp_path_factory = tmp_path_factory
        self._replicas: list[Installation] = []
        self._numbers = iter(range(1, 100))

    def close(self) -> None:
        while self._replicas:
            self._replicas.pop().stop()
        self.service.close()
        self.mounted.close()
        self.cluster.kubectl("delete", CONFIGURATIONS, "custom-scheduler", check=False)
        for kind in ("certificates", "secrets"):
            self.cluster.kubectl("delete", kind, "--all", "-n", NAMESPACE, check=False)

    def apply(self, *components: str) -> None:
        overlay = kustomization(self._tmp_path_factory.mktemp("overlay"), *components)
        manifests = self.cluster.kubectl("kustomize", overlay).stdout
        manifests = manifests.replace("localhost:8443", f"localhost:{self.service.port}")
        self.cluster.kubectl("apply", "-f", "-", input=manifests)

    def roll(self, make: Callable[[], Installation]) -> None:
        before, self._replicas = self._replicas, []
        for _ in range(2):
            fresh = make()
            fresh.start()
            self._replicas.append(fresh)
            fresh.wait_ready()
            gone = before.pop(0) if before else None
            self.service.backends = tuple(each.port for each in [*self._replicas, *before])
            if gone is not None:
                gone.stop()

    def self_signed(self) -> Installation:
        return Installation(self.cluster, options=(*OPTIONS, "--replica", f"replica-{next(self._numbers)}"))

    def files(self) -> Installation:
        eventually(self.mounted.key.exists, "the Secret is mounted")
        return Installation(self.cluster, options=(*OPTIONS, *self.mounted.options))

    def called(self) -> AbstractContextManager[None]:
        return no_call_fails(self.cluster, ENFORCED, self.service.port, lag_seconds=LAG_SECONDS)


@pytest.fixture
def rollout(
    cluster: DevCluster, cert_manager: CertManager, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rollout]:
    """Two replicas with self-signed certificates."""
    with closing(Rollout(cluster, tmp_path_factory)) as rollout:
        rollout.apply()
        rollout.roll(rollout.self_signed)
        yield rollout


def both_are_trusted(cluster: DevCluster) -> bool:
    seen = certs_show(cluster)
    return all(each["carries"] for each in seen["entries"]) and [
        each["entries"] for each in seen["neighbours"]
    ] == [len(seen["entries"])]


def subjects(cluster: DevCluster) -> list[str]:
    carried = x509.load_pem_x509_certificates(ca_bundle(cluster).encode())
    return [each.subject.rfc4514_string().split(" CA ")[0] for each in carried]


def versions(cluster: DevCluster) -> str:
    return cluster.kubectl(
        "get", CONFIGURATIONS, "custom-scheduler", "-o", "jsonpath={.items[*].metadata.resourceVersion}"
    ).stdout


def trust_both(rollout: Rollout) -> None:
    rollout.apply("cert-manager-authority")
    eventually(lambda: both_are_trusted(rollout.cluster), "caBundle carries both CAs")
    time.sleep(SETTLE_SECONDS)  # as the guide says


def test_there_and_back_by_the_steps_of_the_guide_fails_no_call(
    cluster: DevCluster, rollout: Rollout
) -> None:
    with rollout.called():
        trust_both(rollout)
        rollout.apply("cert-manager")
        rollout.roll(rollout.files)
    there = subjects(cluster)

    with rollout.called():
        rollout.apply("cert-manager-authority")
        rollout.roll(rollout.self_signed)
        rollout.apply()
    back = subjects(cluster)

    assert there == back == ["CN=custom-scheduler", "CN=custom-scheduler issuer"]


def test_back_in_one_step_after_the_secret_was_deleted_fails_no_call(
    cluster: DevCluster, rollout: Rollout
) -> None:
    trust_both(rollout)
    rollout.apply("cert-manager")
    rollout.roll(rollout.files)
    cluster.kubectl("delete", "secret", "custom-scheduler-ca", "-n", NAMESPACE)
    before = ca_bundle(cluster)

    with rollout.called():
        rollout.apply()
        rollout.roll(rollout.self_signed)

    assert signer(certs_show(cluster))
    assert ca_bundle(cluster) != before


def test_where_both_are_trusted_nobody_fights_over_cabundle(cluster: DevCluster, rollout: Rollout) -> None:
    trust_both(rollout)
    before = versions(cluster)

    time.sleep(5)  # a fight writes several times a second

    assert versions(cluster) == before


def test_a_rotation_of_ours_where_both_are_trusted_fails_no_call(
    cluster: DevCluster, rollout: Rollout
) -> None:
    trust_both(rollout)
    before = certs_show(cluster)
    with rollout.called():
        certs_rotate(cluster)
        eventually(lambda: certs_show(cluster)["phase"] == "stable", "the rotation ends", seconds=60)
    after = certs_show(cluster)

    assert after["authorities"] != before["authorities"]
    assert after["neighbours"] == before["neighbours"]


def test_a_new_ca_of_cert_manager_is_left_in_cabundle_too(
    cluster: DevCluster, cert_manager: CertManager, rollout: Rollout
) -> None:
    trust_both(rollout)
    renewed(cert_manager, "custom-scheduler-issuer")
    renewed(cert_manager, SERVING)

    eventually(lambda: len(certs_show(cluster)["neighbours"]) == 2, "both CAs of cert-manager are carried")

    assert all(each["carries"] for each in certs_show(cluster)["entries"])
