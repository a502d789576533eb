"""A certificate chain and its private key, checked to belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from certs.errors import Expired, InvalidPair, NotYetValid

__all__ = ["Pair", "check_in_date", "fingerprint_of", "parse_pair", "pem_of", "private_pem"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A private key and the certificates that came with it, of which the first is the key's own."""

    certificates: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes = field(repr=False)

    @property
    def certificate(self) -> x509.Certificate:
        """The one whose key is held."""
        return self.certificates[0]


def parse_pair(certificate_pem: bytes, key_pem: bytes, *, certificate_name: str, key_name: str) -> Pair:
    """Return the pair that two PEM texts hold; the names say in errors where the texts came from.

    Raises InvalidPair if either can't be read, or the first certificate isn't the key's.
    """
    try:
        certificates = tuple(x509.load_pem_x509_certificates(certificate_pem))
    except ValueError:
        raise InvalidPair(
            f"{certificate_name} holds no PEM certificate that can be read: "
            "put the certificate there, followed by any intermediates"
        ) from None
    try:
        key = load_pem_private_key(key_pem, password=None)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidPair(
            f"{key_name} holds no PEM private key that can be read: put the key of {certificate_name} there"
        ) from None
    except TypeError:
        raise InvalidPair(f"{key_name} is encrypted: put the key there without a passphrase") from None
    if not _is_of(certificates[0], key):
        raise InvalidPair(
            f"{certificate_name} and {key_name} don't belong together (the key is another certificate's): "
            "put both of one pair there"
        )
    return Pair(certificates=certificates, key=key)


def check_in_date(certificate: x509.Certificate, now: datetime, *, name: str, next_step: str) -> None:
    """Raise Expired or NotYetValid unless `now` is within the certificate's time."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= ends:
        raise Expired(f"{name} expired at {ends:%Y-%m-%dT%H:%M:%SZ}: {next_step}")
    if now < begins:
        raise NotYetValid(
            f"{name} is valid from {begins:%Y-%m-%dT%H:%M:%SZ} and it is {now:%Y-%m-%dT%H:%M:%SZ} here: "
            "set this machine's clock, or wait"
        )


@lru_cache(maxsize=256)
def fingerprint_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate in hexadecimal: which one this is, for logs and for people."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def pem_of(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return the certificates as one PEM text, in their order."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def private_pem(key: PrivateKeyTypes) -> bytes:
    """Return the key as PKCS #8 PEM without a passphrase."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _is_of(certificate: x509.Certificate, key: PrivateKeyTypes) -> bool:
    try:
        return certificate.public_key() == key.public_key()
    except (ValueError, UnsupportedAlgorithm):  # a certificate is read lazily: its key may still be garbage
        return False
