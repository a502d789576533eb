"""What `doctor` says of caBundle where the webhook serves certificates of others, as cert-manager keeps them."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.leaf import sign_leaf
from certs.pair import pem_of
from tests.inspect.installed import CONFIGURATIONS, NAMESPACE, healthy
from tests.inspect.test_doctor import Cluster, found, serve_files
from tests.kube.fakeapi import Exchange
from webhook.inspect.finding import Finding

THEIRS = create_authority("issuer", utc_now())
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/serving"


class FilesCluster(Cluster):
    """An installation in files mode: its Secret as cert-manager makes it, and the CA of that in every caBundle."""

    may_read_secret = True

    def __call__(self, exchange: Exchange) -> None:
        if exchange.path == SECRET and not self.may_read_secret:
            exchange.refuse(403, "you may not get it")
        else:
            super().__call__(exchange)

    def holds(self, **files: bytes) -> None:
        """Put these files into the Secret."""
        data = {name.replace("_", "."): base64.b64encode(value).decode() for name, value in files.items()}
        metadata = {"name": "serving", "namespace": NAMESPACE, "resourceVersion": "1"}
        self.items[SECRET] = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}

    def carries(self, bundle: bytes, *kinds: str) -> None:
        """Put the bundle into all entries of these kinds."""
        for kind in kinds or CONFIGURATIONS:
            for entry in self.items[CONFIGURATIONS[kind]]["webhooks"]:
                entry["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()


def leaf(authority: Authority = THEIRS, **options: Any) -> bytes:
    return sign_leaf(authority, ["example.com"], utc_now(), **options).certificate_pem


@pytest.fixture
def cluster() -> FilesCluster:
    cluster = FilesCluster(healthy())
    serve_files(cluster)
    pod = cluster.items[f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/custom-scheduler"]["spec"][
        "template"
    ]["spec"]
    pod["containers"][0]["args"].append("--tls-cert=/tls/tls.crt")
    pod["containers"][0]["volumeMounts"].append({"name": "tls", "mountPath": "/tls"})
    pod["volumes"].append({"name": "tls", "secret": {"secretName": "serving"}})
    cluster.holds(tls_crt=leaf(), ca_crt=THEIRS.bundle)
    cluster.carries(THEIRS.bundle)
    return cluster


def about_certificates(cluster: Cluster) -> list[Finding]:
    return [each for each in found(cluster) if each.subject in ("CA", "caBundle", "served")]


def test_a_bundle_that_holds_the_issuer_is_well(cluster: FilesCluster) -> None:
    (told,) = about_certificates(cluster)

    assert (told.level, told.subject) == ("ok", "caBundle")
    assert told.text.startswith(
        "holds who issued the certificate in Secret custom-scheduler/serving everywhere"
    )


def test_a_bundle_that_holds_only_our_former_ca_is_named_entry_by_entry(cluster: FilesCluster) -> None:
    cluster.carries(create_authority("custom-scheduler", utc_now()).bundle, "mutating")

    (told,) = about_certificates(cluster)

    assert (told.level, told.subject) == ("fail", "caBundle")
    assert "mutate.pods.custom-scheduler.io" in told.text
    assert "deny.pods.custom-scheduler.io" not in told.text
    assert "cainjector" in told.fix


def test_an_issuer_is_found_among_others_in_the_bundle(cluster: FilesCluster) -> None:
    cluster.carries(create_authority("custom-scheduler", utc_now()).bundle + THEIRS.bundle)

    assert [each.level for each in about_certificates(cluster)] == ["ok"]


def test_a_certificate_that_is_in_the_bundle_itself_is_well(cluster: FilesCluster) -> None:
    cluster.holds(tls_crt=pem_of([THEIRS.certificate]))

    assert [each.level for each in about_certificates(cluster)] == ["ok"]


def test_a_ca_of_the_same_name_and_another_key_issued_nothing(cluster: FilesCluster) -> None:
    cluster.holds(tls_crt=leaf(create_authority("issuer", utc_now())))

    assert [each.level for each in about_certificates(cluster)] == ["fail"]


def test_where_the_secret_may_not_be_read_it_is_said_that_nothing_was_compared(cluster: FilesCluster) -> None:
    cluster.may_read_secret = False

    (told,) = about_certificates(cluster)

    assert (told.level, told.subject) == ("warn", "caBundle")
    assert "not compared with what is served: " in told.text
    assert "you may not get it" in told.text
    assert "--prove" in told.fix


def test_a_secret_that_is_gone_is_told(cluster: FilesCluster) -> None:
    cluster.delete(SECRET)

    (told,) = about_certificates(cluster)

    assert (told.level, told.subject) == ("fail", "CA")
    assert told.text.startswith(
        "Secret custom-scheduler/serving, which the Deployment mounts, is not there: "
    )


def test_a_secret_without_a_certificate_is_told(cluster: FilesCluster) -> None:
    cluster.holds(tls_crt=b"")

    (told,) = about_certificates(cluster)

    assert told.level == "fail"
    assert "holds no certificate that can be read under tls.crt" in told.text


def test_a_certificate_that_has_expired_is_told(cluster: FilesCluster) -> None:
    cluster.holds(tls_crt=leaf(lifetime=timedelta(0)))

    assert [(each.level, each.subject) for each in about_certificates(cluster)] == [
        ("fail", "CA"),
        ("ok", "caBundle"),
    ]
