from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.context import server_context
from certs.errors import Expired, NotYetValid
from certs.leaf import LEAF_LIFETIME, Leaf, is_host, service_hosts, sign_leaf
from tests.certs.handshake import shake_hands, strict_client

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SERVICE = service_hosts("custom-scheduler", "custom-scheduler")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return create_authority("custom-scheduler", NOW)


def verify(leaf: Leaf, authority: Authority, host: str, at: datetime) -> None:
    verifier = (
        PolicyBuilder()
        .store(Store(list(authority.trusted)))
        .time(at)
        .build_server_verifier(x509.DNSName(host))
    )
    verifier.verify(leaf.certificate, [])


def test_a_service_is_known_under_four_names() -> None:
    assert service_hosts("webhook", "tools") == {
        "webhook",
        "webhook.tools",
        "webhook.tools.svc",
        "webhook.tools.svc.cluster.local",
    }


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "webhook.example.com", "custom-scheduler.custom-scheduler.svc"]
)
def test_a_client_that_trusts_the_authority_is_served_under_each_host(host: str) -> None:
    authority = create_authority("custom-scheduler", utc_now())
    leaf = sign_leaf(authority, SERVICE | {"localhost", "127.0.0.1", "::1", "webhook.example.com"}, utc_now())
    server = server_context(leaf.certificate_pem, leaf.key_pem)

    seen = shake_hands(server, strict_client(authority.bundle), host)

    assert x509.load_der_x509_certificate(seen.certificate) == leaf.certificate


@pytest.mark.parametrize("host", ["other.example.com", "127.0.0.2"])
def test_a_client_that_asks_for_another_host_is_not_served(host: str) -> None:
    authority = create_authority("custom-scheduler", utc_now())
    leaf = sign_leaf(authority, ["localhost", "127.0.0.1"], utc_now())
    server = server_context(leaf.certificate_pem, leaf.key_pem)

    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(server, strict_client(authority.bundle), host)


def test_a_client_that_trusts_another_authority_is_not_served() -> None:
    leaf = sign_leaf(create_authority("custom-scheduler", utc_now()), ["localhost"], utc_now())
    other = create_authority("custom-scheduler", utc_now())
    server = server_context(leaf.certificate_pem, leaf.key_pem)

    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        shake_hands(server, strict_client(other.bundle), "localhost")


def test_with_two_authorities_in_the_bundle_leaves_of_both_are_trusted() -> None:
    old = create_authority("custom-scheduler", utc_now())
    new = create_authority("custom-scheduler", utc_now())
    client = strict_client(old.bundle + new.bundle)

    for authority in (old, new):
        leaf = sign_leaf(authority, ["localhost"], utc_now())
        shake_hands(server_context(leaf.certificate_pem, leaf.key_pem), client, "localhost")


@pytest.mark.parametrize("age", [timedelta(minutes=-59), timedelta(0), LEAF_LIFETIME - timedelta(seconds=1)])
def test_a_leaf_verifies_from_an_hour_before_its_signing_to_its_end(
    authority: Authority, age: timedelta
) -> None:
    leaf = sign_leaf(authority, SERVICE, NOW)

    verify(leaf, authority, "custom-scheduler.custom-scheduler.svc", NOW + age)


@pytest.mark.parametrize("age", [timedelta(minutes=-61), LEAF_LIFETIME + timedelta(seconds=1)])
def test_a_leaf_verifies_at_no_other_time(authority: Authority, age: timedelta) -> None:
    leaf = sign_leaf(authority, SERVICE, NOW)

    with pytest.raises(VerificationError):
        verify(leaf, authority, "custom-scheduler.custom-scheduler.svc", NOW + age)


def test_a_leaf_is_for_servers_alone(authority: Authority) -> None:
    extensions = sign_leaf(authority, SERVICE, NOW).certificate.extensions

    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    constraints = extensions.get_extension_for_class(x509.BasicConstraints).value

    assert list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.SERVER_AUTH
    ]
    assert usage.digital_signature
    assert not usage.key_cert_sign
    assert not constraints.ca


def test_a_leaf_points_at_the_key_of_its_authority(authority: Authority) -> None:
    extensions = sign_leaf(authority, SERVICE, NOW).certificate.extensions
    of_authority = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)

    identifier = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier

    assert identifier == of_authority.value.key_identifier


def test_a_leaf_ends_no_later_than_its_authority(authority: Authority) -> None:
    end = authority.certificate.not_valid_after_utc

    leaf = sign_leaf(authority, SERVICE, end - timedelta(days=1))

    assert leaf.certificate.not_valid_after_utc == end


def test_a_leaf_begins_no_sooner_than_its_authority(authority: Authority) -> None:
    begin = authority.certificate.not_valid_before_utc

    leaf = sign_leaf(authority, SERVICE, begin + timedelta(minutes=1))

    assert leaf.certificate.not_valid_before_utc == begin


def test_an_expired_authority_signs_nothing(authority: Authority) -> None:
    with pytest.raises(Expired):
        sign_leaf(authority, SERVICE, authority.certificate.not_valid_after_utc)


def test_an_authority_from_the_future_signs_nothing(authority: Authority) -> None:
    with pytest.raises(NotYetValid):
        sign_leaf(authority, SERVICE, NOW - timedelta(days=1))


def test_a_leaf_is_due_when_two_thirds_of_its_life_are_over(authority: Authority) -> None:
    leaf = sign_leaf(authority, SERVICE, NOW)

    assert leaf.renew_at == NOW + timedelta(days=7) * 2 / 3
    assert not leaf.is_due(leaf.renew_at - timedelta(seconds=1))
    assert leaf.is_due(leaf.renew_at)


def test_a_leaf_cut_short_by_its_authority_is_due_at_two_thirds_of_what_it_got(authority: Authority) -> None:
    signed_at = authority.certificate.not_valid_after_utc - timedelta(days=3)

    leaf = sign_leaf(authority, SERVICE, signed_at)

    assert leaf.renew_at == signed_at + timedelta(days=2)


def test_a_leaf_is_due_when_the_clock_was_set_back_to_before_it_began(authority: Authority) -> None:
    leaf = sign_leaf(authority, SERVICE, NOW + timedelta(days=2))

    assert leaf.is_due(NOW)


@pytest.mark.parametrize(
    "host",
    ["localhost", "a.b-c.example", "_x.example", "10.0.0.1", "fd00::1", "a" * 63],
)
def test_names_and_addresses_are_hosts(authority: Authority, host: str) -> None:
    assert is_host(host)

    sign_leaf(authority, [host], NOW)


@pytest.mark.parametrize(
    "host",
    ["", "Upper.example", "a b", "exämple.com", "a..b", ".a", "a.", "-a", "*.example.com", "a" * 64, "a:443"],
)
def test_anything_else_is_no_host(authority: Authority, host: str) -> None:
    assert not is_host(host)

    with pytest.raises(ValueError, match="neither a lower-case DNS name nor an IP address"):
        sign_leaf(authority, [host], NOW)


def test_the_key_stays_out_of_the_repr(authority: Authority) -> None:
    assert "key=" not in repr(sign_leaf(authority, SERVICE, NOW))
