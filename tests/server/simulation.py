"""Months of a cluster in seconds: replicas, API servers that lag, faults, and a clock that goes from event to event.

Between two events nothing changes but the time, and a certificate that counts at both ends of an interval counts
throughout it. So a check before and after each event holds for every moment, and with it for every minute.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.x509 import verification

from certs.authority import create_authority
from certs.custody import Custody, parse_custody
from certs.errors import InvalidPair
from certs.leaf import LEAF_LIFETIME, service_hosts
from certs.rotation import RENEWAL, begin
from certs.trust import SETTLE_SECONDS
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases, MemoryWatch
from webhook.errors import Unreachable
from webhook.server.certificates import SelfSignedCertificates
from webhook.server.custodian import LOOK_SECONDS, PRODUCT, Custodian, obtain_custody
from webhook.server.registration import Registration

HOST = "custom-scheduler.custom-scheduler.svc"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
STALENESS = timedelta(seconds=60)
LOOK = timedelta(seconds=LOOK_SECONDS)
# Looks that find nothing to do are left out, but for what keeps a Lease alive.
QUIET = timedelta(hours=6)
ENTRIES = ("deny.pods.custom-scheduler.io", "warn.pods.custom-scheduler.io")


class Verifier:
    """Verifies leaves as an API server would, and remembers what it has worked out."""

    def __init__(self) -> None:
        self._accepted: dict[tuple[int, bytes], bool] = {}

    def accepts(self, leaf: x509.Certificate, bundle: bytes, at: datetime) -> bool:
        known = (leaf.serial_number, bundle)
        if known not in self._accepted:
            self._accepted[known] = self._has_path(leaf, bundle, at)
        # A leaf ends before its CA does.
        return self._accepted[known] and leaf.not_valid_before_utc <= at < leaf.not_valid_after_utc

    def _has_path(self, leaf: x509.Certificate, bundle: bytes, at: datetime) -> bool:
        store = verification.Store(x509.load_pem_x509_certificates(bundle))
        policy = verification.PolicyBuilder().store(store).time(at)
        try:
            policy.build_server_verifier(x509.DNSName(HOST)).verify(leaf, [])
        except verification.VerificationError:
            return False
        return True


class Replica:
    """One replica: its certificates, and what has befallen its machine."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.joined_at = self.heard_at = world.now
        self.is_ready = False
        self.cut_until = self.asleep_until = BEGINNING
        self.clock_error = timedelta()
        self.planned = world.now
        custody = obtain_custody(world.store, clock=lambda: world.now)
        # It may have made a CA, or found one that somebody has just put there: no API server knows it yet.
        self.is_first_of_its_ca = not world.is_known(custody)
        custodian = Custodian(
            custody,
            replica=name,
            store=world.store,
            registrations=[Registration(world.configuration)],
            leases=world.leases,
            settle_seconds=SETTLE_SECONDS,
            clock=lambda: world.now,
            machine_clock=lambda: world.now + self.clock_error,
            boot_clock=lambda: (world.now - BEGINNING).total_seconds(),
        )
        self.leave = custodian.leave
        self.certificates = SelfSignedCertificates(
            hosts=service_hosts(PRODUCT, PRODUCT),
            custodian=custodian,
            watch=MemoryWatch(),
            close=lambda: None,
            clock=lambda: world.now,
        )

    @property
    def leaf(self) -> x509.Certificate:
        return self.certificates._served.leaf.certificate

    def next_look(self, pause: float, now: datetime) -> datetime:
        """Return when the next look that can find something to do takes place."""
        if pause != LOOK_SECONDS and self.cut_until <= now:
            return now + timedelta(seconds=max(0.5, pause))
        served = self.certificates._served
        marks = [served.leaf.renew_at, served.authority.certificate.not_valid_after_utc - RENEWAL]
        ahead = [now + -((now - mark) // LOOK) * LOOK for mark in marks if mark > now]
        if self.cut_until > now:
            return min([self.cut_until, *ahead])
        if self.world.is_busy:
            return now + LOOK
        return max(now + LOOK, min([now + QUIET, *ahead]))


class World:
    """A cluster with replicas that come and go, faults drawn from `seed`, and API servers up to a minute behind."""

    def __init__(self, seed: int) -> None:
        self.now = BEGINNING
        self.store = MemoryStore()
        self.configuration = MemoryConfiguration(*ENTRIES)
        self.leases = MemoryLeases()
        self.replicas: list[Replica] = []
        self.cas: set[str] = set()
        self.met: set[str] = set()
        self.checks = 0
        self._rng = random.Random(seed)
        self._verifier = Verifier()
        self._names = itertools.count(1)
        self._ties = itertools.count()
        self._events: list[tuple[datetime, int, Callable[[], None]]] = []
        # Since when the configuration has carried what; the last entry is the present.
        self._carried: list[tuple[datetime, tuple[bytes, ...]]] = [(BEGINNING, ())]
        self._backups: list[Custody] = []
        self._phase = ""
        self._phase_since = BEGINNING

    @property
    def is_busy(self) -> bool:
        """Whether a rotation took a step not long ago."""
        return self.now - self._phase_since < timedelta(minutes=20)

    def run(self, length: timedelta) -> None:
        """Live through `length`; fails at the first leaf that an API server would refuse."""
        for _ in range(3):
            self.join()
        self.after(self._some(timedelta(days=1), timedelta(days=4)), self._fault)
        while self._events and self._events[0][0] < BEGINNING + length:
            at, _, action = heapq.heappop(self._events)
            self.now = max(self.now, at)
            self._check()
            action()
            self._note()
            self._check()

    def after(self, delay: timedelta, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay, next(self._ties), action))

    def join(self) -> None:
        replica = Replica(self, f"webhook-{next(self._names)}")
        self.replicas.append(replica)
        self._plan(replica, self.now + self._some(timedelta(), timedelta(seconds=5)))

    def is_known(self, custody: Custody) -> bool:
        """Whether each API server, however stale within a minute, trusts the CA that signs."""
        return any(self._carried[-1][1]) and all(
            custody.authority.certificate in x509.load_pem_x509_certificates(bundle)
            for bundle in self._known()
        )

    def _plan(self, replica: Replica, at: datetime) -> None:
        replica.planned = at
        self.after(at - self.now, lambda: self._look(replica, at))

    def _look(self, replica: Replica, planned: datetime) -> None:
        if replica not in self.replicas or replica.planned != planned:
            return
        if replica.asleep_until > self.now:
            self._plan(replica, replica.asleep_until + self._some(timedelta(), LOOK))
            return
        with self._link_of(replica):
            pause = replica.certificates.look()
        if replica.cut_until <= self.now:
            replica.heard_at = self.now
        replica.is_ready = replica.is_ready or not replica.certificates.not_ready()
        self._plan(replica, replica.next_look(pause, self.now))

    @contextmanager
    def _link_of(self, replica: Replica) -> Iterator[None]:
        refusal = Unreachable("cut") if replica.cut_until > self.now else None
        self.store.refusal = self.leases.refusal = self.configuration.refusal = refusal
        yield
        self.store.refusal = self.leases.refusal = self.configuration.refusal = None

    def _note(self) -> None:
        """Write down what the configuration carries, and wake who watches it."""
        carried = tuple(self.configuration.bundles())
        if carried != self._carried[-1][1]:
            self._carried.append((self.now, carried))
            for replica in self.replicas:
                if replica.cut_until <= self.now:
                    self._plan(replica, self.now + self._some(timedelta(seconds=0.2), timedelta(seconds=1.2)))
        if (custody := self._custody()) is None:
            return
        self.cas.add(custody.authority.fingerprint)
        if custody.phase != self._phase:
            self._backups.append(custody)
            self._phase, self._phase_since = custody.phase, self.now
            self.met.add(custody.phase)
            if self._rng.random() < 0.7:
                self.after(self._some(timedelta(), timedelta(seconds=90)), self._fault_once)

    def _custody(self) -> Custody | None:
        try:
            return parse_custody(self.store.secret.data, source="") if self.store.secret else None
        except InvalidPair:
            return None

    def _check(self) -> None:
        """Let each API server, however stale within a minute, call each replica that may be called."""
        for replica in self.replicas:
            if not self._may_be_called(replica):
                continue
            for bundle in self._known():
                self.checks += 1
                assert self._verifier.accepts(replica.leaf, bundle, self.now), (
                    f"{self.now}: {replica.name} serves a leaf of {replica.leaf.issuer.rfc4514_string()}, "
                    f"and an API server trusts "
                    f"{[each.subject.rfc4514_string() for each in x509.load_pem_x509_certificates(bundle)]}"
                )

    def _known(self) -> set[bytes]:
        """The bundles that some API server, stale within a minute, may go by."""
        while len(self._carried) > 1 and self._carried[1][0] <= self.now - STALENESS:
            self._carried.pop(0)
        # What others have wiped says nothing of ours.
        return {bundle for _, bundles in self._carried for bundle in bundles if bundle}

    def _may_be_called(self, replica: Replica) -> bool:
        if not replica.is_ready or replica.asleep_until > self.now:
            return False
        if replica.is_first_of_its_ca and self.now <= replica.joined_at + STALENESS + LOOK:
            return False
        # Its word ends seven days after it was heard last; a look may find it half a minute old.
        if self.now >= replica.heard_at + LEAF_LIFETIME - LOOK:
            return False
        # One that has just woken up says that it isn't ready, until it has looked.
        return replica.asleep_until + LOOK < self.now or not replica.certificates.not_ready()

    def _some(self, least: timedelta, most: timedelta) -> timedelta:
        return least + (most - least) * self._rng.random()

    def _fault(self) -> None:
        self._fault_once()
        self.after(self._some(timedelta(hours=12), timedelta(days=5)), self._fault)

    def _fault_once(self) -> None:
        fault = self._rng.choice(
            [
                self._wipe,
                self._unregister,
                self._lose_secret,
                self._lose_successor,
                self._restore_backup,
                self._put_another_ca,
                self._kill,
                self._replace,
                self._cut,
                self._suspend,
                self._set_clock,
                self._rotate,
            ]
        )
        self.met.add(fault.__name__.strip("_"))
        fault()

    def _wipe(self) -> None:
        self.configuration.wipe()

    def _unregister(self) -> None:
        webhooks = [{"name": name, "clientConfig": {}} for name in ENTRIES]
        self.configuration.webhooks = None

        def register() -> None:
            self.configuration.webhooks = webhooks

        self.after(self._some(timedelta(), timedelta(minutes=10)), register)

    def _lose_secret(self) -> None:
        self.store.put(self._rng.choice([None, {}, {"ca.crt": b"garbage", "ca.key": b"garbage"}]))

    def _lose_successor(self) -> None:
        if self.store.secret is not None:
            self.store.put(dict(self.store.secret.data) | {"next.key": b""})

    def _restore_backup(self) -> None:
        backup = self._rng.choice(self._backups)
        if backup.authority.certificate.not_valid_after_utc > self.now + timedelta(days=1):
            self.store.put(backup.data)

    def _put_another_ca(self) -> None:
        if self._rng.random() < 0.3:
            self.store.put(Custody(authority=create_authority("theirs", self.now)).data)

    def _kill(self) -> None:
        self.replicas.remove(self._rng.choice(self.replicas))
        self.after(self._some(timedelta(), timedelta(minutes=2)), self.join)

    def _replace(self) -> None:
        gone = self._rng.choice(self.replicas)
        self.join()

        def stop() -> None:
            if gone in self.replicas:
                self.replicas.remove(gone)
                gone.leave()

        self.after(timedelta(seconds=30), stop)

    def _cut(self) -> None:
        self._rng.choice(self.replicas).cut_until = self.now + self._some(
            timedelta(hours=1), timedelta(days=6)
        )

    def _suspend(self) -> None:
        replica = self._rng.choice(self.replicas)
        wakes_at = self.now + self._some(timedelta(hours=1), timedelta(days=20))
        replica.asleep_until = max(replica.asleep_until, wakes_at)

    def _set_clock(self) -> None:
        replica = self._rng.choice(self.replicas)
        replica.clock_error = self._some(timedelta(days=-900), timedelta(days=900))

        def set_right() -> None:
            replica.clock_error = timedelta()

        self.after(self._some(timedelta(hours=1), timedelta(days=3)), set_right)

    def _rotate(self) -> None:
        custody = self._custody()
        if custody is not None and custody.phase == "stable" and self._rng.random() < 0.3:
            self.store.put(begin(custody, PRODUCT, self.now).data)
