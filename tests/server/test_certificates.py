"""Certificates that a worker signs itself: what is served, for whom, and by which CA."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from prometheus_client import REGISTRY

from certs.authority import AUTHORITY_LIFETIME, create_authority
from certs.clock import utc_now
from certs.context import TlsVersion
from certs.leaf import LEAF_LIFETIME
from tests.certs.handshake import shake_hands, strict_client
from tests.server.signing import SERVICE, Cluster, content, expiry, served
from webhook.errors import ApiError, ConfigurationError
from webhook.server.custodian import LOOK_SECONDS


def test_the_service_is_served_before_the_first_look() -> None:
    cluster = Cluster()

    certificate = served(cluster.certificates.context(), cluster.authority.bundle)

    assert certificate.issuer == cluster.authority.certificate.subject


def test_both_configurations_get_the_ca() -> None:
    cluster = Cluster()

    cluster.certificates.look()

    assert cluster.bundles() == [cluster.authority.bundle] * 2


def test_it_is_ready_once_both_configurations_carry_the_ca() -> None:
    cluster = Cluster()
    before = cluster.certificates.not_ready()

    cluster.certificates.look()

    assert before == [
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet",
        "caBundle of MutatingWebhookConfiguration custom-scheduler not looked at yet",
    ]
    assert cluster.certificates.not_ready() == []


def test_it_is_ready_where_nothing_is_registered() -> None:
    cluster = Cluster()
    cluster.validating.webhooks = cluster.mutating.webhooks = None

    cluster.certificates.look()

    assert cluster.certificates.not_ready() == []


def test_looking_again_writes_and_signs_nothing() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()

    pauses = [cluster.certificates.look() for _ in range(10)]

    assert pauses == [LOOK_SECONDS] * 10
    assert (cluster.validating.writes, cluster.mutating.writes, cluster.store.writes) == (1, 1, 0)
    assert cluster.certificates.context() is context


def test_one_configuration_that_refuses_does_not_keep_the_other_from_its_ca() -> None:
    cluster = Cluster()

    def refuse() -> None:
        raise ApiError("forbidden", status=403)

    cluster.validating.before_patch = refuse
    cluster.certificates.look()

    assert cluster.bundles() == [b"", cluster.authority.bundle]
    (reason,) = cluster.certificates.not_ready()
    assert reason == (
        "caBundle of deny.pods.custom-scheduler.io in ValidatingWebhookConfiguration custom-scheduler "
        "is not our CA: forbidden"
    )


def test_a_host_in_a_url_is_served_before_the_ca_is_published() -> None:
    cluster = Cluster()
    cluster.validating.call_by("https://localhost:8443/validate")
    seen: list[x509.Certificate] = []
    cluster.validating.before_patch = lambda: seen.append(
        served(cluster.certificates.context(), cluster.authority.bundle, "localhost")
    )

    cluster.certificates.look()

    assert len(seen) == 1


def test_a_host_that_is_gone_stays_until_the_leaf_is_renewed() -> None:
    cluster = Cluster()
    cluster.validating.call_by("https://localhost:8443/validate")
    cluster.certificates.look()
    context = cluster.certificates.context()
    cluster.validating.webhooks = None

    cluster.certificates.look()

    assert cluster.certificates.context() is context


def test_a_leaf_is_renewed_at_two_thirds_of_its_life() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    first = cluster.certificates.context()

    cluster.clock.now += LEAF_LIFETIME * 2 / 3 - timedelta(minutes=1)
    cluster.certificates.look()
    early = cluster.certificates.context()
    cluster.clock.now += timedelta(minutes=1)
    cluster.certificates.look()

    assert early is first
    assert cluster.certificates.context() is not first


def test_a_leaf_that_lives_for_less_than_a_look_lasts_is_renewed_in_time() -> None:
    cluster = Cluster(leaf_lifetime=timedelta(seconds=30))
    pause = cluster.certificates.look()
    first = cluster.certificates.context()

    cluster.clock.now += timedelta(seconds=pause)
    cluster.certificates.look()

    assert 0 < pause <= 20
    assert cluster.certificates.context() is not first
    assert cluster.certificates.not_ready() == []


def test_a_leaf_is_renewed_while_the_api_server_is_away() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    first = cluster.certificates.context()
    cluster.go_away()
    cluster.clock.now += LEAF_LIFETIME * 2 / 3

    cluster.certificates.look()

    assert cluster.certificates.context() is not first
    assert cluster.certificates.not_ready() == []


def test_a_leaf_that_has_ended_is_not_replaced_before_the_cluster_was_looked_at() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()
    cluster.clock.now += LEAF_LIFETIME

    cluster.certificates.look()
    away = cluster.certificates.not_ready()
    cluster.come_back()
    cluster.certificates.look()

    assert len(away) == 1
    assert cluster.certificates.not_ready() == []


def test_an_api_server_that_is_away_is_told_once_and_asked_again_soon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()

    with caplog.at_level(logging.ERROR):
        pauses = [cluster.certificates.look() for _ in range(10)]

    assert [record.getMessage() for record in caplog.records] == [
        "certificates can't be brought in line: refused"
    ]
    assert pauses[0] < 2
    assert max(pauses) <= LOOK_SECONDS


def test_a_certificate_whose_time_is_over_is_not_ready() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()
    cluster.clock.now += AUTHORITY_LIFETIME

    cluster.certificates.look()

    (reason,) = cluster.certificates.not_ready()
    assert reason.startswith("the certificate served expired at ")
    assert reason.endswith(": refused")


def test_another_ca_in_the_secret_is_followed() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    other = create_authority("custom-scheduler", cluster.clock.now)
    cluster.store.put(content(other))

    for _ in range(4):
        cluster.certificates.look()
        cluster.clock.now += timedelta(seconds=60)

    assert cluster.bundles() == [other.bundle] * 2
    served(cluster.certificates.context(), other.bundle)


def test_a_second_ca_in_the_secret_is_published_and_changes_no_leaf() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()
    new = create_authority("custom-scheduler", cluster.clock.now)
    both = cluster.authority.bundle + new.bundle
    cluster.store.put(content(cluster.authority) | {"ca.crt": both, "next.key": new.key_pem})

    cluster.certificates.look()

    assert cluster.bundles() == [both] * 2
    assert cluster.certificates.context() is context


@pytest.mark.parametrize("data", [None, {}, {"ca.crt": b"garbage"}], ids=["deleted", "emptied", "garbage"])
def test_a_secret_that_lost_the_ca_gets_it_back_and_nobody_notices(data: Mapping[str, bytes] | None) -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()
    cluster.store.put(data)

    cluster.certificates.look()

    assert cluster.store.secret is not None
    assert cluster.store.secret.data == content(cluster.authority)
    assert cluster.validating.writes == 1
    assert cluster.certificates.context() is context


def test_an_expired_ca_is_replaced_published_and_signed_with() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.clock.now += AUTHORITY_LIFETIME

    cluster.certificates.look()

    (bundle, _) = cluster.bundles()
    assert bundle != cluster.authority.bundle
    assert cluster.certificates.not_ready() == []


def test_two_workers_with_different_cas_end_with_that_of_the_secret() -> None:
    cluster = Cluster()
    other = cluster.worker(create_authority("custom-scheduler", cluster.clock.now), replica="webhook-2")

    for worker in (cluster.certificates, other) * 3:
        worker.look()

    assert cluster.bundles() == [cluster.authority.bundle] * 2
    assert cluster.validating.writes == 1


def test_without_the_secret_no_ca_is_published() -> None:
    cluster = Cluster()
    cluster.store.refusal = ApiError("forbidden", status=403)

    cluster.certificates.look()

    assert cluster.bundles() == [b"", b""]


def test_an_authority_that_has_expired_since_it_was_obtained_is_refused() -> None:
    cluster = Cluster()
    cluster.clock.now += AUTHORITY_LIFETIME

    with pytest.raises(ConfigurationError, match="the CA expired"):
        cluster.worker(cluster.authority)


def test_client_certificates_are_demanded_and_their_ca_is_followed(tmp_path: Path) -> None:
    client_ca = tmp_path / "client-ca.pem"
    first = create_authority("clients", utc_now())
    client_ca.write_bytes(first.bundle)
    cluster = Cluster(client_ca=client_ca)
    before = cluster.certificates.context()
    client_ca.write_bytes(create_authority("clients", utc_now()).bundle)

    cluster.certificates.look()

    assert before.verify_mode == ssl.CERT_REQUIRED
    assert cluster.certificates.context() is not before


def test_a_spoilt_client_ca_keeps_nothing_else_from_being_brought_in_line(tmp_path: Path) -> None:
    client_ca = tmp_path / "client-ca.pem"
    client_ca.write_bytes(create_authority("clients", utc_now()).bundle)
    cluster = Cluster(client_ca=client_ca)
    before = cluster.certificates.context()
    client_ca.write_bytes(b"garbage")
    cluster.clock.now += LEAF_LIFETIME * 0.9

    cluster.certificates.look()

    assert cluster.bundles() == [cluster.authority.bundle] * 2
    assert cluster.certificates.context() is not before
    assert cluster.certificates.context().verify_mode == ssl.CERT_REQUIRED
    assert REGISTRY.get_sample_value("custom_scheduler_certificate_refused") == 1


@pytest.mark.parametrize(("floor", "is_served"), [("1.2", True), ("1.3", False)])
def test_a_client_of_tls_1_2_is_served_where_the_floor_is_1_2(floor: TlsVersion, is_served: bool) -> None:
    cluster = Cluster(tls_min_version=floor)
    client = strict_client(cluster.authority.bundle)
    client.maximum_version = ssl.TLSVersion.TLSv1_2

    with nullcontext() if is_served else pytest.raises(ssl.SSLError, match="protocol version"):
        shake_hands(cluster.certificates.context(), client, SERVICE)


def test_a_missing_client_ca_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"client-ca\.pem can't be read"):
        Cluster(client_ca=tmp_path / "client-ca.pem")


def test_the_expiry_of_ca_and_leaf_is_measured() -> None:
    cluster = Cluster()

    cluster.certificates.look()

    leaf = served(cluster.certificates.context(), cluster.authority.bundle)
    assert expiry("ca") == cluster.authority.certificate.not_valid_after_utc.timestamp()
    assert expiry("leaf") == leaf.not_valid_after_utc.timestamp()


def test_a_configuration_that_can_not_be_read_is_told_with_the_refusal() -> None:
    cluster = Cluster()
    cluster.validating.refusal = ApiError("forbidden", status=403)

    cluster.certificates.look()

    assert cluster.certificates.not_ready() == [
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet",
        "caBundle of MutatingWebhookConfiguration custom-scheduler not looked at yet",
        "it can't be mended yet: forbidden",
    ]

    cluster.validating.refusal = None
    cluster.certificates.look()

    assert cluster.certificates.not_ready() == []
