"""Certificates of the real cert-manager: issued, injected, renewed and replaced without a failed call."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing

import pytest
from cryptography import x509

from devcluster.certmanager.running import CertManager
from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.e2e.certmanager.conftest import ENFORCED
from tests.e2e.certmanager.mounted import NAMESPACE, SERVING, MountedSecret, kustomization, renewed
from tests.e2e.objects import pod
from tests.e2e.traffic import ca_bundle, no_call_fails
from tests.waiting import eventually

pytestmark = [pytest.mark.cert_manager, pytest.mark.timeout(240)]

LAG_SECONDS = 1.0
OPTIONS = ("--no-binder", "--ca-settle-seconds", "2")


@pytest.fixture(scope="module")
def mounted(
    cluster: DevCluster, cert_manager: CertManager, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MountedSecret]:
    with closing(MountedSecret(cluster, tmp_path_factory.mktemp("tls"))) as mounted:
        yield mounted


@pytest.fixture(scope="module")
def installation(
    cluster: DevCluster, mounted: MountedSecret, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    overlay = kustomization(tmp_path_factory.mktemp("overlay"), "cert-manager")
    installation = Installation(cluster, overlay=overlay, options=(*OPTIONS, *mounted.options))
    installation.apply_manifests()
    eventually(mounted.key.exists, "cert-manager issues the certificate, and the volume has it")
    with installation:
        eventually(lambda: ca_bundle(cluster), "the injector writes caBundle")
        yield installation


def served(installation: Installation) -> x509.Certificate:
    pem = ssl.get_server_certificate(("127.0.0.1", installation.port), timeout=5)
    return x509.load_pem_x509_certificate(pem.encode())


def serves_what_the_secret_holds(installation: Installation, mounted: MountedSecret) -> bool:
    return served(installation) == x509.load_pem_x509_certificate(mounted.secret()["tls.crt"])


def issuer_key(certificate: x509.Certificate) -> bytes | None:
    extension = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    return extension.value.key_identifier


def test_a_denial_comes_over_a_certificate_of_cert_manager(
    cluster: DevCluster, installation: Installation, mounted: MountedSecret
) -> None:
    denied = cluster.kubectl("create", "-f", "-", input=pod(ENFORCED, "bare"), check=False)

    assert "Pod must have custom label" in denied.stderr
    assert mounted.secret()["ca.crt"].decode() in ca_bundle(cluster)
    assert served(installation).issuer.rfc4514_string() == "CN=custom-scheduler issuer"


def test_every_entry_carries_the_ca(cluster: DevCluster, installation: Installation) -> None:
    bundles = cluster.kubectl(
        "get",
        "validatingwebhookconfiguration,mutatingwebhookconfiguration",
        "custom-scheduler",
        "-o",
        'jsonpath={range .items[*].webhooks[*]}{.clientConfig.caBundle}{"\\n"}{end}',
    ).stdout.split()

    assert len(bundles) == 8
    assert len(set(bundles)) == 1


def test_renewals_fail_no_call(
    cluster: DevCluster, cert_manager: CertManager, installation: Installation, mounted: MountedSecret
) -> None:
    with no_call_fails(cluster, ENFORCED, installation.port, lag_seconds=LAG_SECONDS):
        for _ in range(3):
            renewed(cert_manager, SERVING)
            eventually(
                lambda: serves_what_the_secret_holds(installation, mounted),
                "the renewed certificate is served",
            )


def test_a_new_ca_fails_no_call(
    cluster: DevCluster, cert_manager: CertManager, installation: Installation, mounted: MountedSecret
) -> None:
    before = served(installation)
    with no_call_fails(cluster, ENFORCED, installation.port, lag_seconds=LAG_SECONDS):
        renewed(cert_manager, "custom-scheduler-issuer")
        renewed(cert_manager, SERVING)
        eventually(
            lambda: issuer_key(served(installation)) != issuer_key(before),
            "a certificate of the new CA is served",
        )
        trusted = ca_bundle(cluster)

    assert len(x509.load_pem_x509_certificates(trusted.encode())) > 1
    assert mounted.secret()["ca.crt"].decode() in trusted


def test_a_deleted_secret_is_issued_anew_and_fails_no_call(
    cluster: DevCluster, installation: Installation, mounted: MountedSecret
) -> None:
    before = served(installation)
    with no_call_fails(cluster, ENFORCED, installation.port, lag_seconds=LAG_SECONDS):
        cluster.kubectl("delete", "secret", SERVING, "-n", NAMESPACE)
        eventually(lambda: served(installation) != before, "the certificate issued anew is served")


def test_a_key_of_another_certificate_in_between_keeps_the_pair_before(
    cluster: DevCluster, cert_manager: CertManager, installation: Installation, mounted: MountedSecret
) -> None:
    eventually(lambda: serves_what_the_secret_holds(installation, mounted), "what was issued is served")
    before, pair = served(installation), mounted.secret()
    with no_call_fails(cluster, ENFORCED, installation.port, lag_seconds=LAG_SECONDS), mounted.held():
        renewed(cert_manager, SERVING)
        mounted.put(certificate=mounted.secret()["tls.crt"], key=pair["tls.key"])
        eventually(lambda: "don't belong together" in installation.log_file.read_text(), "it is logged")
        in_between = served(installation)
    eventually(lambda: serves_what_the_secret_holds(installation, mounted), "the whole pair is served")

    assert in_between == before
    assert served(installation) != before
