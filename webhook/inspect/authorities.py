"""What the cluster says of our CA: the Secret, the replicas that serve it, the entries that carry it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec
from cryptography import x509

from certs.bundle import bundles, certificates_in, entries_without
from certs.custody import Custody, Phase, parse_custody
from certs.errors import InvalidPair
from certs.pair import fingerprint_of
from certs.rotation import RENEWAL
from webhook.errors import ConfigurationError
from webhook.kube.replicas import ReplicaLeases
from webhook.kube.secrets import KubeSecretStore
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import ReadConfiguration, WebhookConfigurations
from webhook.policy.names import CA_SECRET, CONFIGURATIONS, WEBHOOK_NAMES

__all__ = ["Authorities", "Authority", "AuthorityNotFound", "Entry", "Neighbour", "Replica", "look"]

Role = Literal["signs", "follows", "goes"]
"""`signs`: leaves are signed by it. `follows`: it is to sign next. `goes`: it is trusted until nobody serves it."""


class AuthorityNotFound(ConfigurationError):
    """There is no CA in a namespace."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"Secret {namespace}/{CA_SECRET}: not found; nothing serves with --cert-mode self-signed there, "
            "or it is installed in another namespace: give --namespace"
        )


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class Authority(_Part, frozen=True, kw_only=True):
    """A CA in the Secret; `fingerprint` is the SHA-256 of its certificate in hexadecimal."""

    fingerprint: str
    subject: str
    role: Role
    valid_from: datetime
    valid_until: datetime


class Replica(_Part, frozen=True, kw_only=True):
    """A replica that told in its Lease which CA it serves; `ended` where that counts no more."""

    name: str
    fingerprint: str
    told_at: datetime | None
    ended: bool


class Entry(_Part, frozen=True, kw_only=True):
    """One of our entries in a webhook configuration; `carries` is whether the Secret's CAs are in its caBundle."""

    configuration: str
    name: str
    carries: bool


class Neighbour(_Part, frozen=True, kw_only=True):
    """A certificate in caBundle that the Secret doesn't hold; `entries` is in how many of our entries it is."""

    fingerprint: str
    subject: str
    valid_until: datetime
    entries: int


class Authorities(_Part, frozen=True, kw_only=True):
    """All of it, at one moment."""

    secret: str
    phase: Phase
    renews_at: datetime
    authorities: list[Authority]
    replicas: list[Replica]
    entries: list[Entry]
    neighbours: list[Neighbour]


def look(client: KubeClient, namespace: str) -> Authorities:
    """Return what the cluster says of the CA in `namespace`.

    Raises AuthorityNotFound where there is none, ConfigurationError where it can't be read, ClusterError where the
    cluster can't be asked.
    """
    source = f"Secret {namespace}/{CA_SECRET}"
    secret = KubeSecretStore(client, namespace=namespace, name=CA_SECRET).read()
    if secret is None:
        raise AuthorityNotFound(namespace)
    try:
        custody = parse_custody(secret.data, source=source)
    except InvalidPair as fault:
        raise ConfigurationError(f"{fault}; a running webhook mends it within a minute") from fault
    now = client.now()
    read = {each.label: each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)}
    return Authorities(
        secret=f"{namespace}/{CA_SECRET}",
        phase=custody.phase,
        renews_at=custody.authority.certificate.not_valid_after_utc - RENEWAL,
        authorities=[_authority(each, custody) for each in custody.authority.trusted],
        replicas=[
            Replica(
                name=told.replica,
                fingerprint=told.fingerprint,
                told_at=told.renewed_at,
                ended=not told.is_live(now),
            )
            for told in ReplicaLeases(client, namespace=namespace).told()
        ],
        entries=_entries(read, custody.authority.bundle),
        neighbours=_neighbours(read, custody.authority.bundle),
    )


def _authority(certificate: x509.Certificate, custody: Custody) -> Authority:
    role: Role = "goes"
    if certificate == custody.authority.certificate:
        role = "signs"
    elif custody.successor is not None and certificate == custody.successor.certificate:
        role = "follows"
    return Authority(
        fingerprint=fingerprint_of(certificate),
        subject=certificate.subject.rfc4514_string(),
        role=role,
        valid_from=certificate.not_valid_before_utc,
        valid_until=certificate.not_valid_after_utc,
    )


def _entries(read: Mapping[str, ReadConfiguration | None], bundle: bytes) -> list[Entry]:
    found: list[Entry] = []
    for label, configuration in read.items():
        webhooks = configuration.webhooks if configuration else ()
        lacking = entries_without(bundle, webhooks, WEBHOOK_NAMES)
        found += [
            Entry(configuration=label, name=each.name, carries=each.name not in lacking)
            for each in webhooks
            if each.name in WEBHOOK_NAMES
        ]
    return found


def _neighbours(read: Mapping[str, ReadConfiguration | None], bundle: bytes) -> list[Neighbour]:
    ours = certificates_in(bundle)
    counted = Counter(
        certificate
        for configuration in read.values()
        for carried in (bundles(configuration.webhooks, WEBHOOK_NAMES) if configuration else ())
        for certificate in certificates_in(carried)
        if certificate not in ours
    )
    return [
        Neighbour(
            fingerprint=fingerprint_of(each),
            subject=each.subject.rfc4514_string(),
            valid_until=each.not_valid_after_utc,
            entries=count,
        )
        for each, count in counted.items()
    ]
