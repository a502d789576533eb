"""What the cluster says of our CA: the Secret, the replicas that serve it, the entries that carry it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec
from cryptography import x509

from certs.bundle import entries_without
from certs.clock import utc_now
from certs.custody import Custody, Phase, parse_custody
from certs.errors import InvalidPair
from certs.pair import fingerprint_of
from certs.rotation import RENEWAL
from webhook.errors import ConfigurationError
from webhook.kube.replicas import ReplicaLeases
from webhook.kube.secrets import KubeSecretStore
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import WebhookConfigurations
from webhook.policy.names import CA_SECRET, CONFIGURATIONS, WEBHOOK_NAMES

__all__ = ["Authorities", "Authority", "Entry", "Replica", "look"]

Role = Literal["signs", "follows", "goes"]
"""`signs`: leaves are signed by it. `follows`: it is to sign next. `goes`: it is trusted until nobody serves it."""


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
    """One of our entries in a webhook configuration; `carries` is whether its caBundle is the Secret's."""

    configuration: str
    name: str
    carries: bool


class Authorities(_Part, frozen=True, kw_only=True):
    """All of it, at one moment."""

    secret: str
    phase: Phase
    renews_at: datetime
    authorities: list[Authority]
    replicas: list[Replica]
    entries: list[Entry]


def look(client: KubeClient, namespace: str) -> Authorities:
    """Return what the cluster says of the CA in `namespace`.

    Raises ConfigurationError where there is none, ClusterError where the cluster can't be asked.
    """
    source = f"Secret {namespace}/{CA_SECRET}"
    secret = KubeSecretStore(client, namespace=namespace, name=CA_SECRET).read()
    if secret is None:
        raise ConfigurationError(
            f"{source}: not found; nothing serves with --cert-mode self-signed there, "
            "or it is installed in another namespace: give --namespace"
        )
    try:
        custody = parse_custody(secret.data, source=source)
    except InvalidPair as fault:
        raise ConfigurationError(f"{fault}; a running webhook mends it within a minute") from fault
    now = client.server_clock.now() or utc_now()
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
        entries=_entries(client, custody.authority.bundle),
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


def _entries(client: KubeClient, bundle: bytes) -> list[Entry]:
    found: list[Entry] = []
    for configuration in WebhookConfigurations(client, CONFIGURATIONS):
        read = configuration.read()
        webhooks = read.webhooks if read else ()
        lacking = {name for _, name in entries_without(bundle, webhooks, WEBHOOK_NAMES)}
        found += [
            Entry(configuration=configuration.label, name=each.name, carries=each.name not in lacking)
            for each in webhooks
            if each.name in WEBHOOK_NAMES
        ]
    return found
