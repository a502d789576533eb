"""The serving certificate: short, signed in memory by the replica that serves it, never stored."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import BACKDATE, Authority
from certs.pair import pem_of, private_pem
from certs.usage import key_usage

__all__ = ["LEAF_LIFETIME", "Leaf", "is_host", "service_hosts", "sign_leaf"]

LEAF_LIFETIME = timedelta(days=7)

# Not IDNA's rules but Go's (crypto/x509 validHostnameInput): the names that an API server can ask for.
_DNS_NAME = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A serving certificate with its key, and the CA and hosts that it was signed for."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    signed_at: datetime
    hosts: frozenset[str]

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return pem_of([self.certificate])

    @property
    def key_pem(self) -> bytes:
        """The key as unencrypted PEM: never to be written to a disk."""
        return private_pem(self.key)

    @property
    def renew_at(self) -> datetime:
        """When two thirds of its life are over; a third is left for whatever keeps it from being renewed."""
        return self.signed_at + (self.certificate.not_valid_after_utc - self.signed_at) * 2 / 3

    def is_due(self, now: datetime) -> bool:
        """Tell whether to sign another: its time is up, or the clock was set back to before it began."""
        return now >= self.renew_at or now < self.certificate.not_valid_before_utc


def service_hosts(service: str, namespace: str) -> frozenset[str]:
    """Return the names under which a Service is reached inside its cluster.

    API servers ask for `<service>.<namespace>.svc` (k8s.io/apiserver pkg/util/webhook/client.go); the others
    are for people and probes.
    """
    return frozenset(
        {
            service,
            f"{service}.{namespace}",
            f"{service}.{namespace}.svc",
            f"{service}.{namespace}.svc.cluster.local",
        }
    )


def is_host(host: str) -> bool:
    """Tell whether `host` can stand in a certificate: a lower-case ASCII DNS name or an IP address."""
    return _address(host) is not None or _DNS_NAME.fullmatch(host) is not None


def sign_leaf(
    authority: Authority, hosts: Iterable[str], now: datetime, *, lifetime: timedelta = LEAF_LIFETIME
) -> Leaf:
    """Return a new leaf for `hosts` (DNS names and IP addresses), signed by `authority`.

    Valid for `lifetime` from `now`, but never before or after its CA. Raises Expired or NotYetValid when the
    CA's own signature doesn't count at `now`; ValueError for something that is no host.
    """
    authority.check(now)
    names = frozenset(hosts)
    key = ec.generate_private_key(ec.SECP256R1())
    now = now.replace(microsecond=0)
    issuer = authority.certificate
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - BACKDATE, issuer.not_valid_before_utc))
        .not_valid_after(min(now + lifetime, issuer.not_valid_after_utc))
        .add_extension(x509.SubjectAlternativeName(map(_general_name, sorted(names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_identifier_of(issuer), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Leaf(certificate=certificate, key=key, signed_at=now, hosts=names)


def _general_name(host: str) -> x509.GeneralName:
    address = _address(host)
    if address is not None:
        return x509.IPAddress(address)
    if not _DNS_NAME.fullmatch(host):
        raise ValueError(f"{host!r} is neither a lower-case DNS name nor an IP address")
    return x509.DNSName(host)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _identifier_of(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    # The CA's own identifier, as RFC 5280 section 4.2.1.1 has it; a CA that has none is known by its key.
    try:
        identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier(
            x509.SubjectKeyIdentifier.from_public_key(issuer.public_key()).digest, None, None
        )
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier.value)
