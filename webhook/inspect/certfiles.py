"""What the cluster says of a certificate that others keep for us: the Secret that it is in, the entries that trust it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certs.bundle import certificates_in
from certs.pair import fingerprint_of
from webhook.errors import ConfigurationError
from webhook.inspect.certmode import ServedFiles
from webhook.kube.secrets import KubeSecretStore
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import WebhookConfigurations
from webhook.policy.names import CONFIGURATIONS, WEBHOOK_NAMES

__all__ = ["ChainCertificate", "ServedChain", "TrustingEntry", "look_at_files"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class ChainCertificate(_Part, frozen=True, kw_only=True):
    """A certificate of the chain; `fingerprint` is its SHA-256 in hexadecimal."""

    fingerprint: str
    subject: str
    issuer: str
    valid_from: datetime
    valid_until: datetime


class TrustingEntry(_Part, frozen=True, kw_only=True):
    """One of our entries in a webhook configuration; `trusts` is whether its caBundle holds who issued the chain."""

    configuration: str
    name: str
    trusts: bool


class ServedChain(_Part, frozen=True, kw_only=True):
    """All of it, at one moment; the first certificate is the one that is served."""

    cert_mode: str = "files"
    secret: str
    certificates: list[ChainCertificate]
    entries: list[TrustingEntry]


def look_at_files(client: KubeClient, namespace: str, files: ServedFiles) -> ServedChain:
    """Return what the cluster says of the certificate that `files` names; its Secret has to be known.

    Raises ConfigurationError where there is no certificate in it, ClusterError where the cluster can't be asked.
    """
    assert files.secret is not None
    place = f"Secret {namespace}/{files.secret}"
    secret = KubeSecretStore(client, namespace=namespace, name=files.secret).read()
    if secret is None:
        raise ConfigurationError(f"{place}, which the Deployment mounts, is not there")
    chain = certificates_in(secret.data.get(files.key or "", b""))
    if not chain:
        raise ConfigurationError(f"{place} holds no certificate that can be read under {files.key}")
    read = {each.label: each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)}
    return ServedChain(
        secret=f"{namespace}/{files.secret}",
        certificates=[
            ChainCertificate(
                fingerprint=fingerprint_of(each),
                subject=each.subject.rfc4514_string(),
                issuer=each.issuer.rfc4514_string(),
                valid_from=each.not_valid_before_utc,
                valid_until=each.not_valid_after_utc,
            )
            for each in chain
        ],
        entries=[
            TrustingEntry(
                configuration=label,
                name=entry.name,
                trusts=_trusts(certificates_in(entry.client_config.ca_bundle), chain),
            )
            for label, configuration in read.items()
            for entry in (configuration.webhooks if configuration else ())
            if entry.name in WEBHOOK_NAMES
        ],
    )


def _trusts(bundle: Iterable[x509.Certificate], chain: Iterable[x509.Certificate]) -> bool:
    """Tell whether a certificate of the chain is in the bundle, or was issued by one that is.

    A bundle may hold an intermediate in place of the CA that `ca.crt` of the Secret names, and not every issuer writes
    a `ca.crt`.
    """
    held = tuple(bundle)
    return any(each in held or any(_issued(issuer, each) for issuer in held) for each in chain)


def _issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
