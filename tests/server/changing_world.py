"""A cluster in which the webhook changes its way of having a certificate: replicas of two kinds, and an injector.

Time goes in steps of a second. API servers are up to a minute behind, the injector up to three seconds.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certs.authority import create_authority
from certs.bundle import certificates_in
from certs.custody import parse_custody
from certs.leaf import service_hosts, sign_leaf
from certs.store import ensure_custody
from certs.trust import SETTLE_SECONDS
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases, MemoryWatch
from webhook.server.certificates import SelfSignedCertificates
from webhook.server.custodian import PRODUCT, Custodian
from webhook.server.registration import Registration

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
STALENESS_SECONDS = 60
INJECTOR_LAG_SECONDS = 3
LOOK_SECONDS = 15
ENTRIES = ("deny.pods.custom-scheduler.io", "warn.pods.custom-scheduler.io")


class SelfSigned:
    """A replica in self-signed mode."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        custodian = Custodian(
            ensure_custody(world.store, PRODUCT, clock=world.time),
            replica=name,
            store=world.store,
            registrations=[
                Registration(world.configuration, clock=world.time, boot_clock=lambda: float(world.now))
            ],
            leases=world.leases,
            settle_seconds=SETTLE_SECONDS,
            clock=world.time,
            machine_clock=world.time,
            boot_clock=lambda: float(world.now),
        )
        self._custodian = custodian
        self._certificates = SelfSignedCertificates(
            hosts=service_hosts(PRODUCT, PRODUCT),
            custodian=custodian,
            watch=MemoryWatch(),
            close=lambda: None,
            clock=world.time,
        )
        self.looks_at = world.now + world.rng.randint(0, 2)

    @property
    def leaf(self) -> x509.Certificate:
        return self._certificates._served.leaf.certificate

    @property
    def is_ready(self) -> bool:
        return not self._certificates.not_ready()

    def live(self) -> None:
        if self._world.now >= self.looks_at:
            self._certificates.look()
            self.looks_at = self._world.now + LOOK_SECONDS

    def told(self) -> None:
        self.looks_at = min(self.looks_at, self._world.now + 1)

    def leave(self) -> None:
        self._custodian.leave()


class Files:
    """A replica in files mode: asks nobody, and is ready at once."""

    is_ready = True

    def __init__(self, world: World) -> None:
        self.leaf = world.leaf_of_cert_manager()

    def live(self) -> None:
        """Do nothing."""

    def told(self) -> None:
        """Hear nothing."""

    def leave(self) -> None:
        """Leave nothing behind."""


class World:
    """Two replicas with self-signed certificates, called through one configuration."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0
        self.store = MemoryStore()
        self.leases = MemoryLeases()
        self.configuration = MemoryConfiguration(*ENTRIES)
        self.issuer = create_authority("cert-manager", BEGINNING)
        self.trusted_by_injector = self.issuer.bundle
        self.checks = 0
        self._called: list[SelfSigned | Files] = []
        self._coming: SelfSigned | Files | None = None
        self._names = iter(range(1, 100))
        self._history: list[list[bytes]] = []
        self.roll(self.self_signed)

    def time(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.now)

    def leaf_of_cert_manager(self) -> x509.Certificate:
        return sign_leaf(self.issuer, service_hosts(PRODUCT, PRODUCT), self.time()).certificate

    def self_signed(self) -> SelfSigned:
        return SelfSigned(self, f"webhook-{next(self._names)}")

    def files(self) -> Files:
        return Files(self)

    def roll(self, make: Callable[[], SelfSigned | Files]) -> None:
        """Replace the replicas one by one: the next is ready before one of those before goes."""
        before = list(self._called)
        for _ in range(2):
            self._coming = make()
            self.until(lambda: self._coming is not None and self._coming.is_ready)
            self._called.append(self._coming)
            self._coming = None
            if before:
                gone = before.pop(0)
                self._called.remove(gone)
                gone.leave()
            self.wait(self.rng.randint(1, 10))

    def rotate_cert_manager(self) -> None:
        """Let cert-manager have another CA, of which it signs from now on."""
        self.issuer = create_authority("cert-manager", self.time())
        self.trusted_by_injector = self.issuer.bundle

    def both_are_trusted(self) -> bool:
        """Tell whether each entry carries the CA of the Secret and cert-manager's, as `certs show` says it."""
        if self.store.secret is None:
            return False
        ours = parse_custody(self.store.secret.data, source="").authority.certificate
        return all(
            {ours, self.issuer.certificate} <= set(certificates_in(bundle))
            for bundle in self.configuration.bundles()
        )

    def until(self, done: Callable[[], bool], *, seconds: int = 600) -> None:
        """Live until something holds."""
        for _ in range(seconds):
            if done():
                return
            self.wait(1)
        raise AssertionError(f"not within {seconds} s")

    def wait(self, seconds: int) -> None:
        """Live for so long; fails at the first leaf that an API server would refuse."""
        for _ in range(seconds):
            self.now += 1
            before = self.configuration.bundles()
            self._inject()
            for replica in self._replicas:
                replica.live()
            if self.configuration.bundles() != before:
                for replica in self._replicas:
                    replica.told()
            self._history = [*self._history, self.configuration.bundles()][-STALENESS_SECONDS:]
            self._check()

    @property
    def _replicas(self) -> list[SelfSigned | Files]:
        return [*self._called, *([self._coming] if self._coming else [])]

    def _inject(self) -> None:
        """Add the CA to what was there not long ago, whatever is there now: so the injector's apply does it."""
        if not self.configuration.is_injected or self.rng.random() > 0.3:
            return
        lag = self.rng.randint(0, INJECTOR_LAG_SECONDS)
        seen = [self.configuration.bundles(), *reversed(self._history)][lag : lag + 1] or [[b"", b""]]
        for webhook, bundle in zip(self.configuration.webhooks or (), seen[0], strict=True):
            known = certificates_in(bundle)
            (authority,) = certificates_in(self.trusted_by_injector)
            wanted = bundle if authority in known else bundle + self.trusted_by_injector
            webhook["clientConfig"]["caBundle"] = base64.b64encode(wanted).decode()

    def _check(self) -> None:
        bundles = {bundle for moment in self._history for bundle in moment if bundle}
        for replica in self._called:
            for bundle in bundles:
                self.checks += 1
                assert any(_signed(replica.leaf, each) for each in certificates_in(bundle)), (
                    f"at {self.now} s, a leaf of {replica.leaf.issuer.rfc4514_string()} is served, and an API server "
                    f"trusts {[each.subject.rfc4514_string() for each in certificates_in(bundle)]}"
                )


def _signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, InvalidSignature):
        return False
    return True
