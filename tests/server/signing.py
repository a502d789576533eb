"""A worker that signs its own certificates, over a cluster in memory."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from prometheus_client import REGISTRY

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.context import TLS_FLOOR, TlsVersion
from certs.custody import Custody
from certs.leaf import LEAF_LIFETIME, service_hosts
from tests.certs.handshake import shake_hands, strict_client
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases, MemoryWatch
from webhook.errors import Unreachable
from webhook.server.certificates import SelfSignedCertificates
from webhook.server.custodian import Custodian
from webhook.server.registration import Registration

__all__ = ["SERVICE", "Clock", "Cluster", "content", "expiry", "served"]

SERVICE = "custom-scheduler.custom-scheduler.svc"


class Clock:
    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now

    def boot(self) -> float:
        return self.now.timestamp()


class Cluster:
    """A Secret, both configurations, and a worker's certificates over them."""

    def __init__(
        self,
        *,
        store: MemoryStore | None = None,
        client_ca: Path | None = None,
        tls_min_version: TlsVersion = TLS_FLOOR,
        leaf_lifetime: timedelta = LEAF_LIFETIME,
    ) -> None:
        self.leaf_lifetime = leaf_lifetime
        self.clock = Clock()
        self.authority = create_authority("custom-scheduler", self.clock.now)
        self.store = store or MemoryStore(content(self.authority))
        self.validating = MemoryConfiguration("deny.pods.custom-scheduler.io")
        self.mutating = MemoryConfiguration(
            "mutate.pods.custom-scheduler.io", label="MutatingWebhookConfiguration custom-scheduler"
        )
        self.leases = MemoryLeases()
        self.watch = MemoryWatch()
        self.on_close: Callable[[], None] = lambda: None
        self.client_ca = client_ca
        self.tls_min_version = tls_min_version
        self.certificates = self.worker(self.authority)

    def worker(self, authority: Authority, *, replica: str = "webhook-1") -> SelfSignedCertificates:
        custodian = Custodian(
            Custody(authority=authority),
            replica=replica,
            store=self.store,
            registrations=[Registration(self.validating), Registration(self.mutating)],
            leases=self.leases,
            settle_seconds=60,
            clock=self.clock,
            machine_clock=self.clock,
            boot_clock=self.clock.boot,
        )
        return SelfSignedCertificates(
            hosts=service_hosts("custom-scheduler", "custom-scheduler"),
            custodian=custodian,
            watch=self.watch,
            close=self.on_close,
            client_ca=self.client_ca,
            tls_min_version=self.tls_min_version,
            clock=self.clock,
            quiet_seconds=0,
            leaf_lifetime=self.leaf_lifetime,
        )

    def bundles(self) -> list[bytes]:
        return self.validating.bundles() + self.mutating.bundles()

    def go_away(self) -> None:
        self._refuse(Unreachable("refused"))

    def come_back(self) -> None:
        self._refuse(None)

    def _refuse(self, refusal: Unreachable | None) -> None:
        self.store.refusal = self.leases.refusal = refusal
        self.validating.refusal = self.mutating.refusal = refusal


def content(authority: Authority) -> dict[str, bytes]:
    return {"ca.crt": authority.bundle, "ca.key": authority.key_pem}


def served(context: ssl.SSLContext, ca_pem: bytes, host: str = SERVICE) -> x509.Certificate:
    return x509.load_der_x509_certificate(shake_hands(context, strict_client(ca_pem), host).certificate)


def expiry(role: str) -> float | None:
    return REGISTRY.get_sample_value("custom_scheduler_certificate_expiry_timestamp_seconds", {"role": role})
