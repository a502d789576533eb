"""What a key may be used for, as its certificate says."""

from __future__ import annotations

from cryptography import x509

__all__ = ["key_usage"]


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Return the usage of a CA's key, or of one that signs handshakes and nothing else."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
