from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from certs.authority import (
    AUTHORITY_LIFETIME,
    Authority,
    create_authority,
    is_authority_of,
    parse_authority,
)
from certs.errors import Expired, InvalidPair, NotYetValid
from certs.leaf import sign_leaf
from certs.pair import pem_of, private_pem

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return create_authority("custom-scheduler", NOW)


def parse(certificates_pem: bytes, key_pem: bytes) -> Authority:
    return parse_authority(certificates_pem, key_pem, source="the CA's Secret")


def test_a_new_authority_can_sign_leaves_and_nothing_else(authority: Authority) -> None:
    extensions = authority.certificate.extensions

    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    usage = extensions.get_extension_for_class(x509.KeyUsage)

    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert not usage.value.digital_signature


def test_a_new_authority_has_an_ecdsa_p256_key(authority: Authority) -> None:
    assert isinstance(authority.key, ec.EllipticCurvePrivateKey)
    assert isinstance(authority.key.curve, ec.SECP256R1)


def test_a_new_authority_lives_a_year_and_began_an_hour_ago(authority: Authority) -> None:
    second = NOW.replace(microsecond=0)

    assert authority.certificate.not_valid_before_utc == second - timedelta(hours=1)
    assert authority.certificate.not_valid_after_utc == second + timedelta(days=365)


def test_two_authorities_differ_in_serial_subject_and_key() -> None:
    one, other = create_authority("custom-scheduler", NOW), create_authority("custom-scheduler", NOW)

    assert one.certificate.serial_number != other.certificate.serial_number
    assert one.certificate.subject != other.certificate.subject
    assert one.fingerprint != other.fingerprint


def test_a_serial_is_random_over_nearly_160_bits() -> None:
    lengths = [create_authority("x", NOW).certificate.serial_number.bit_length() for _ in range(20)]

    assert max(lengths) <= 159  # RFC 5280: at most 20 octets, and positive
    assert max(lengths) > 150


def test_the_subject_names_the_product(authority: Authority) -> None:
    (name,) = authority.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)

    assert str(name.value).startswith("custom-scheduler CA ")


def test_the_key_stays_out_of_the_repr(authority: Authority) -> None:
    assert "key=" not in repr(authority)


def test_an_authority_survives_its_own_pem(authority: Authority) -> None:
    read = parse(authority.bundle, authority.key_pem)

    assert read.certificate == authority.certificate
    assert read.key.public_key() == authority.key.public_key()
    assert read.bundle == authority.bundle


def test_a_second_authority_in_the_bundle_is_trusted_too(authority: Authority) -> None:
    other = create_authority("custom-scheduler", NOW)

    read = parse(authority.bundle + other.bundle, authority.key_pem)

    assert read.certificate == authority.certificate
    assert read.trusted == (authority.certificate, other.certificate)
    assert read.bundle == authority.bundle + other.bundle


@pytest.mark.parametrize(
    "garbage", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_garbage_in_place_of_the_certificate_is_refused(authority: Authority, garbage: bytes) -> None:
    with pytest.raises(InvalidPair, match=r"^ca\.crt of the CA's Secret holds no PEM certificate"):
        parse(garbage, authority.key_pem)


@pytest.mark.parametrize(
    "garbage", [b"", b"garbage", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
)
def test_garbage_in_place_of_the_key_is_refused(authority: Authority, garbage: bytes) -> None:
    with pytest.raises(InvalidPair, match=r"^ca\.key of the CA's Secret holds no PEM private key"):
        parse(authority.bundle, garbage)


def test_the_key_of_another_authority_is_refused(authority: Authority) -> None:
    other = create_authority("custom-scheduler", NOW)

    with pytest.raises(InvalidPair, match="don't belong together"):
        parse(authority.bundle, other.key_pem)


def test_a_leaf_is_refused_as_an_authority(authority: Authority) -> None:
    leaf = sign_leaf(authority, ["localhost"], NOW)

    with pytest.raises(InvalidPair, match="may not sign certificates"):
        parse(leaf.certificate_pem, leaf.key_pem)


def test_a_leaf_beside_the_authority_is_refused(authority: Authority) -> None:
    leaf = sign_leaf(authority, ["localhost"], NOW)

    with pytest.raises(InvalidPair, match="may not sign certificates"):
        parse(authority.bundle + leaf.certificate_pem, authority.key_pem)


def test_a_certificate_without_extensions_is_refused_as_an_authority() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    bare = self_signed(key)

    with pytest.raises(InvalidPair, match="may not sign certificates"):
        parse(pem_of([bare]), private_pem(key))


def test_a_key_that_api_servers_may_not_know_is_refused() -> None:
    key = ed25519.Ed25519PrivateKey.generate()

    with pytest.raises(InvalidPair, match="neither ECDSA nor RSA"):
        parse(pem_of([self_signed(key)]), private_pem(key))


def test_an_authority_counts_from_its_first_to_its_last_second(authority: Authority) -> None:
    authority.check(authority.certificate.not_valid_before_utc)
    authority.check(authority.certificate.not_valid_after_utc - timedelta(seconds=1))


def test_an_authority_expires(authority: Authority) -> None:
    with pytest.raises(Expired, match=r"^the CA expired at 2027-11-30T12:00:00Z: "):
        authority.check(NOW + AUTHORITY_LIFETIME)


def test_an_authority_from_the_future_blames_the_clock(authority: Authority) -> None:
    with pytest.raises(NotYetValid, match=r"valid from 2026-11-30T11:00:00Z .* set this machine's clock"):
        authority.check(datetime(1970, 1, 1, tzinfo=UTC))


def self_signed(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bare")])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256() if isinstance(key, ec.EllipticCurvePrivateKey) else None)
    )


def test_a_ca_is_known_by_the_product_that_it_signs_for(authority: Authority) -> None:
    assert is_authority_of("custom-scheduler", authority.certificate)
    assert not is_authority_of("another", authority.certificate)


def test_a_ca_of_somebody_who_took_our_name_is_not_ours(authority: Authority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = authority.certificate.subject
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )

    assert not is_authority_of("custom-scheduler", certificate)
