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
from datetime import datetime, timedelta
from functools import lru_cache
from unittest import mock

from cryptography import x509
from cryptography.x509 import verification

import certs.custody
from certs.authority import parse_authority
from certs.bundle import certificates_in
from certs.custody import Custody, parse_custody
from certs.errors import InvalidPair
from certs.leaf import LEAF_LIFETIME
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases
from tests.server.simulated_faults import FAULTS, is_survivable
from tests.server.simulated_replica import BEGINNING, LOOK, Replica

HOST = "custom-scheduler.custom-scheduler.svc"
STALENESS = timedelta(seconds=60)
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
        store = verification.Store(list(certificates_in(bundle)))
        policy = verification.PolicyBuilder().store(store).time(at)
        try:
            policy.build_server_verifier(x509.DNSName(HOST)).verify(leaf, [])
        except verification.VerificationError:
            return False
        return True


class World:
    """A cluster with replicas that come and go, faults drawn from `seed`, and API servers up to a minute behind."""

    def __init__(self, seed: int) -> None:
        self.now = BEGINNING
        self.rng = random.Random(seed)
        self._seed = seed
        self.store = MemoryStore()
        self.configuration = MemoryConfiguration(*ENTRIES)
        self.leases = MemoryLeases()
        self.replicas: list[Replica] = []
        self._all: set[Replica] = set()
        self.backups: list[Custody] = []
        self.cas: set[str] = set()
        self.met: set[str] = set()
        self.checks = 0
        self._verifier = Verifier()
        self._names = itertools.count(1)
        self._ties = itertools.count()
        self._events: list[tuple[datetime, int, Callable[[], None]]] = []
        # Since when the configuration has carried what; the last entry is the present.
        self._carried: list[tuple[datetime, tuple[bytes, ...]]] = [(BEGINNING, ())]
        self._seen = self.store.secret
        self._phase = ""
        self._changed_at = BEGINNING

    @property
    def is_busy(self) -> bool:
        """Whether a rotation took a step not long ago."""
        return self.now - self._changed_at < timedelta(minutes=5)

    @property
    def custody(self) -> Custody | None:
        """What the Secret holds, if that can be used."""
        try:
            return parse_custody(self.store.secret.data, source="") if self.store.secret else None
        except InvalidPair:
            return None

    def run(self, length: timedelta) -> None:
        """Live through `length`; fails at the first leaf that an API server would refuse."""
        random.seed(self._seed)  # what backs off draws from there
        try:
            with _remembering():
                for _ in range(3):
                    self.join()
                self.after(self.some(timedelta(days=1), timedelta(days=4)), self._go_wrong)
                self._live_until(BEGINNING + length)
        finally:
            for replica in self._all:
                replica.end()

    def after(self, delay: timedelta, action: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._events, (self.now + delay, next(self._ties), action))

    def some(self, least: timedelta, most: timedelta) -> timedelta:
        """Return a time between the two."""
        return least + (most - least) * self.rng.random()

    def delay(self) -> timedelta:
        """Return how long a call takes: seldom long enough to count, but where it matters most."""
        drawn = self.rng.random()
        if drawn > (0.1 if self.is_busy else 0.005):
            return timedelta()
        return self.some(timedelta(), timedelta(seconds=100 if drawn < 0.001 else 3))

    def is_answer_lost(self) -> bool:
        """Tell whether what was written is not confirmed."""
        return self.rng.random() < (0.01 if self.is_busy else 0.001)

    def join(self, name: str | None = None) -> None:
        """Let a replica come; one that was killed may come back under its name."""
        replica = Replica(self, name or f"webhook-{next(self._names)}")
        self._all.add(replica)

        def started() -> None:
            self.replicas.append(replica)
            self._plan(replica, self.now + self.some(timedelta(), timedelta(seconds=5)))

        replica.start(started)

    def remove(self, replica: Replica) -> None:
        """Let a replica go, in the middle of what it does too."""
        self.replicas.remove(replica)
        self._all.remove(replica)
        replica.end()

    def _live_until(self, end: datetime) -> None:
        while self._events and self._events[0][0] <= end:
            at, _, action = heapq.heappop(self._events)
            self.now = at
            self._check()
            action()
            self._note()
            self._check()

    def _plan(self, replica: Replica, at: datetime) -> None:
        replica.planned = at
        self.after(at - self.now, lambda: self._look(replica, at))

    def _look(self, replica: Replica, planned: datetime) -> None:
        if replica not in self.replicas or replica.planned != planned:
            return
        if replica.is_asleep:
            self._plan(replica, replica.asleep_until + self.some(timedelta(), LOOK))
        elif replica.is_looking:
            replica.is_told = True
        else:
            replica.look(lambda at: self._plan_after(replica, at))

    def _plan_after(self, replica: Replica, at: datetime) -> None:
        if replica.planned <= self.now:  # else something is about to tell of a change
            self._plan(replica, at)

    def _note(self) -> None:
        """Write down what the cluster holds by now, and wake who watches it."""
        carried = tuple(self.configuration.bundles())
        if carried == self._carried[-1][1] and self.store.secret is self._seen:
            return
        if carried != self._carried[-1][1]:
            self._carried.append((self.now, carried))
        self._seen, self._changed_at = self.store.secret, self.now
        for replica in self.replicas:
            if not replica.is_cut:
                self._plan(replica, self.now + self.some(timedelta(seconds=0.2), timedelta(seconds=1.2)))
        if (custody := self.custody) is None:
            return
        self.cas.add(custody.authority.fingerprint)
        if custody.phase != self._phase:
            self.backups.append(custody)
            self._phase = custody.phase
            self.met.add(custody.phase)
            if self.rng.random() < 0.7:
                self.after(self.some(timedelta(), timedelta(seconds=90)), self._fault)

    def _check(self) -> None:
        """Let each API server, however stale within a minute, call each replica that may be called."""
        for replica in self.replicas:
            if not self.may_be_called(replica):
                continue
            for bundle in self._known():
                self.checks += 1
                assert self._verifier.accepts(replica.leaf, bundle, self.now), (
                    f"{self.now}: {replica.name} serves a leaf of {replica.leaf.issuer.rfc4514_string()}, "
                    f"and an API server trusts "
                    f"{[each.subject.rfc4514_string() for each in certificates_in(bundle)]}"
                )

    def _known(self) -> set[bytes]:
        """The bundles that some API server, stale within a minute, may go by."""
        while len(self._carried) > 1 and self._carried[1][0] <= self.now - STALENESS:
            self._carried.pop(0)
        # What others have wiped says nothing of ours.
        return {bundle for _, bundles in self._carried for bundle in bundles if bundle}

    def may_be_called(self, replica: Replica) -> bool:
        """Tell whether an API server may call it: it was ready, and its word holds."""
        if replica.is_asleep or not replica.is_in_endpoints:
            return False
        # Its word ends seven days after it was heard last; a look may find it half a minute old.
        return self.now < replica.heard_at + LEAF_LIFETIME - LOOK

    def _go_wrong(self) -> None:
        self._fault()
        if self.rng.random() < 0.3:
            self.after(self.some(timedelta(), timedelta(minutes=1)), self._fault)
        self.after(self.some(timedelta(hours=12), timedelta(days=5)), self._go_wrong)

    def _fault(self) -> None:
        fault = self.rng.choice(FAULTS)
        if not self.replicas or not is_survivable(self, fault):
            return
        self.met.add(fault.__name__)
        fault(self)


@contextmanager
def _remembering() -> Iterator[None]:
    """Read each text once: most of the time goes into it, and each replica reads the same ones again and again."""
    with mock.patch.object(certs.custody, "parse_authority", lru_cache(maxsize=512)(parse_authority)):
        yield
