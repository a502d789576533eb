"""The certificate authority: made here, kept in a Secret, trusted through caBundle."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from certs.errors import InvalidPair
from certs.pair import check_in_date, fingerprint_of, parse_pair, pem_of, private_pem
from certs.usage import key_usage

__all__ = [
    "AUTHORITY_LIFETIME",
    "BACKDATE",
    "Authority",
    "create_authority",
    "is_authority_of",
    "parse_authority",
]

AUTHORITY_LIFETIME = timedelta(days=365)

BACKDATE = timedelta(hours=1)
"""How far in the past a certificate begins: clocks of API servers may be behind ours by up to this."""


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A CA that can sign, and every certificate that clients have to trust while it does."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey = field(repr=False)
    trusted: tuple[x509.Certificate, ...]
    """What goes into caBundle: this CA first, then those beside it while one CA follows another."""

    @property
    def bundle(self) -> bytes:
        """The trusted certificates as PEM: the value of caBundle before base64."""
        return pem_of(self.trusted)

    @property
    def key_pem(self) -> bytes:
        """The key as unencrypted PEM: for the Secret alone."""
        return private_pem(self.key)

    @property
    def fingerprint(self) -> str:
        """Which CA this is, for logs and for people."""
        return fingerprint_of(self.certificate)

    def check(self, now: datetime) -> None:
        """Raise Expired or NotYetValid unless this CA's signatures count at `now`."""
        check_in_date(
            self.certificate, now, name="the CA", next_step="a new one has to take its place in the Secret"
        )


def create_authority(name: str, now: datetime) -> Authority:
    """Return a new CA, valid for a year from `now`; `name` is the product that it signs for.

    ECDSA P-256, a random serial, and the extensions that RFC 5280 section 4.2.1 asks of a CA. It can sign
    leaves only (path length 0). Its subject ends in its key's identifier: of two CAs with one subject, TLS
    libraries may pick the wrong one when they build a chain.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    subject = _subject(name, identifier)
    now = now.replace(microsecond=0)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate=certificate, key=key, trusted=(certificate,))


def is_authority_of(name: str, certificate: x509.Certificate) -> bool:
    """Tell whether this is a CA that `create_authority` made for the product `name`, whoever holds it."""
    try:
        identifier = x509.SubjectKeyIdentifier.from_public_key(certificate.public_key())
    except (ValueError, UnsupportedAlgorithm):  # a certificate is read lazily: its key may still be garbage
        return False
    return certificate.subject == _subject(name, identifier)


def parse_authority(certificates_pem: bytes, key_pem: bytes, *, source: str) -> Authority:
    """Return the CA of which `key_pem` is the key: the first of the certificates; the rest are trusted too.

    `source` says in errors where the texts came from. Raises InvalidPair for anything but a pair whose
    certificates are all CAs; whether it is in date is `Authority.check`'s matter.
    """
    pair = parse_pair(
        certificates_pem,
        key_pem,
        certificate_name=f"ca.crt of {source}",
        key_name=f"ca.key of {source}",
    )
    if not isinstance(pair.key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise InvalidPair(f"ca.key of {source} is neither ECDSA nor RSA: API servers need one of these")
    for certificate in pair.certificates:
        if not _may_sign(certificate):
            raise InvalidPair(
                f"ca.crt of {source} holds {certificate.subject.rfc4514_string()!r}, "
                "which may not sign certificates: put a CA there (basicConstraints CA, keyUsage keyCertSign)"
            )
    return Authority(certificate=pair.certificate, key=pair.key, trusted=pair.certificates)


def _subject(name: str, identifier: x509.SubjectKeyIdentifier) -> x509.Name:
    common_name = f"{name} CA {identifier.key_identifier.hex()[:8]}"
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _may_sign(certificate: x509.Certificate) -> bool:
    try:
        extensions = certificate.extensions
        return (
            extensions.get_extension_for_class(x509.BasicConstraints).value.ca
            and extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
        )
    except (ValueError, x509.ExtensionNotFound):
        return False
