"""The cluster's own certificate authority, whose key never leaves memory, and what it signs."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.usage import key_usage

__all__ = ["Authority", "KeyPair", "new_signing_key"]

_LIFETIME = dt.timedelta(days=365)
_CLOCK_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A self-signed ECDSA P-256 authority for both the servers and the clients of one cluster."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "devcluster")])
        self._certificate = (
            _certificate(name, issuer=name, key=self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The authority's certificate, PEM."""
        return _pem(self._certificate)

    def serving(self, hosts: Sequence[str]) -> KeyPair:
        """Sign a server certificate for `hosts`, each a DNS name or an IP address."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._sign([(NameOID.COMMON_NAME, hosts[0])], ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, *, groups: Sequence[str] = ()) -> KeyPair:
        """Sign a client certificate that Kubernetes takes for `user` in `groups`."""
        subject = [*((NameOID.ORGANIZATION_NAME, group) for group in groups), (NameOID.COMMON_NAME, user)]
        return self._sign(subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _sign(
        self,
        subject: Sequence[tuple[x509.ObjectIdentifier, str]],
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None = None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _certificate(
                x509.Name([x509.NameAttribute(kind, text) for kind, text in subject]),
                issuer=self._certificate.subject,
                key=key.public_key(),
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return KeyPair(certificate=_pem(builder.sign(self._key, hashes.SHA256())), key=_key_pem(key))


def new_signing_key() -> bytes:
    """Make the key that signs service-account tokens: ECDSA P-256, PEM."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def _certificate(
    subject: x509.Name, *, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Not PKCS8: kube-apiserver takes the public half of a token key from an EC PRIVATE KEY alone
    # (client-go, util/keyutil, ParsePublicKeysPEM).
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
