"""One replica of a simulated cluster, and its link to the API server: slow, cut, or gone in the middle of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from cryptography import x509

from certs.leaf import service_hosts
from certs.rotation import RENEWAL
from certs.trust import SETTLE_SECONDS
from tests.certs.memory_store import MemorySecret, MemoryStore
from tests.server.actor import Actor
from tests.server.cluster import MemoryConfiguration, MemoryLeases, MemoryWatch, Read
from webhook.errors import ConfigurationError, Unreachable
from webhook.kube.replicas import ReplicaLease
from webhook.server.certificates import SelfSignedCertificates
from webhook.server.custodian import LOOK_SECONDS, PRODUCT, Custodian
from webhook.server.obtain import RETURN_SECONDS, obtain_custody
from webhook.server.registration import Registration

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
LOOK = timedelta(seconds=LOOK_SECONDS)
# Looks that find nothing to do are left out, but for what keeps a Lease alive.
QUIET = timedelta(hours=6)
# A kubelet asks each 2 s, and believes the third refusal; then the endpoints follow.
UNREADY = timedelta(seconds=10)


T = TypeVar("T")


class World(Protocol):
    """What a replica is in."""

    now: datetime
    store: MemoryStore
    configuration: MemoryConfiguration
    leases: MemoryLeases

    @property
    def is_busy(self) -> bool:
        """Whether a rotation took a step not long ago."""

    def after(self, delay: timedelta, action: Callable[[], None]) -> None:
        """Let something happen later."""

    def delay(self) -> timedelta:
        """Return how long a call takes."""

    def is_answer_lost(self) -> bool:
        """Tell whether what was written is not confirmed."""


class Replica:
    """One replica: its certificates, and what has befallen its machine. `end` has to be called."""

    certificates: SelfSignedCertificates

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.cut_until = self.asleep_until = self.held_until = BEGINNING
        self.clock_error = timedelta()
        self.heard_at = self.planned = world.now
        self.is_told = False
        self._unready_since: datetime | None = world.now
        self._has_been_ready = False
        self._actor = Actor()
        self.end = self._actor.end

    @property
    def is_looking(self) -> bool:
        return self._actor.is_busy

    def start(self, started: Callable[[], None]) -> None:
        """Start as `serve` does, and tell when that is done."""

        def start() -> None:
            while True:
                try:
                    self._start()
                except ConfigurationError:
                    self._sleep(10)  # then the kubelet starts it anew
                else:
                    break
            started()

        self._actor.do(start)

    def look(self, plan: Callable[[datetime], None]) -> None:
        """Look once, and tell when to look again."""

        def look() -> None:
            self.is_told = False
            plan(self._next_look(self.certificates.look()))

        self._actor.do(look)

    def _start(self) -> None:
        store, leases = _Store(self), _Leases(self)
        custody = obtain_custody(
            store,
            leases,
            clock=self._clock,
            machine_clock=self._machine_clock,
            monotonic=self._boot,
            sleep=self._sleep,
        )
        custodian = Custodian(
            custody,
            replica=self.name,
            store=store,
            registrations=[Registration(_Configuration(self), clock=self._clock, boot_clock=self._boot)],
            leases=leases,
            settle_seconds=SETTLE_SECONDS,
            clock=self._clock,
            machine_clock=self._machine_clock,
            boot_clock=self._boot,
        )
        self.leave = custodian.leave
        self.certificates = SelfSignedCertificates(
            hosts=service_hosts(PRODUCT, PRODUCT),
            custodian=custodian,
            watch=MemoryWatch(),
            close=lambda: None,
            clock=self._clock,
        )

    @property
    def leaf(self) -> x509.Certificate:
        return self.certificates._served.leaf.certificate

    @property
    def is_cut(self) -> bool:
        return self.cut_until > self.world.now

    @property
    def is_asleep(self) -> bool:
        return self.asleep_until > self.world.now

    @property
    def is_at_hand(self) -> bool:
        """Whether it reaches the API server, and no call keeps it from all else for longer than a request may hang."""
        is_held = self.held_until > self.world.now + timedelta(seconds=RETURN_SECONDS)
        return not self.is_cut and not self.is_asleep and not is_held

    @property
    def served(self) -> x509.Certificate:
        """The CA of the leaf that it serves."""
        return self.certificates._served.authority.certificate

    @property
    def is_in_endpoints(self) -> bool:
        """Whether it is ready, or was until so short a time ago that not everybody knows."""
        now = self.world.now
        if not self.certificates.not_ready():
            self._has_been_ready, self._unready_since = True, None
            return True
        self._unready_since = self._unready_since or now
        # Of a node that was away its pods are not in the endpoints until they are asked again.
        has_just_woken = self.asleep_until + LOOK >= now
        return self._has_been_ready and not has_just_woken and now - self._unready_since < UNREADY

    def _next_look(self, pause: float) -> datetime:
        now = self.world.now
        if not self.is_cut:
            self.heard_at = now
        if self.is_told:
            return now + timedelta(seconds=0.5)
        if pause != LOOK_SECONDS and not self.is_cut:
            return now + timedelta(seconds=max(0.5, pause))
        served = self.certificates._served
        marks = [served.leaf.renew_at, served.authority.certificate.not_valid_after_utc - RENEWAL]
        ahead = [now + -((now - mark) // LOOK) * LOOK for mark in marks if mark > now]
        if self.is_cut:
            return min([self.cut_until, *ahead])
        if self.world.is_busy:
            return now + LOOK
        return max(now + LOOK, min([now + QUIET, *ahead]))

    def call(self, done: Callable[[], T]) -> T:
        """Do what a call does, some time after it began; raises Unreachable where the link is cut."""
        self._sleep(self.world.delay().total_seconds())
        if self.is_cut:
            raise Unreachable("cut")
        answer = done()
        if self.world.is_answer_lost():
            raise Unreachable("no answer")
        return answer

    def _sleep(self, seconds: float) -> None:
        if seconds:
            self.held_until = self.world.now + timedelta(seconds=seconds)
            self._pause(timedelta(seconds=seconds))
        while self.is_asleep:
            self._pause(self.asleep_until - self.world.now)

    def _pause(self, time: timedelta) -> None:
        self.world.after(time, self._actor.resume)
        self._actor.pause()

    def _clock(self) -> datetime:
        return self.world.now

    def _machine_clock(self) -> datetime:
        return self.world.now + self.clock_error

    def _boot(self) -> float:
        return (self.world.now - BEGINNING).total_seconds()


class _Store:
    def __init__(self, replica: Replica) -> None:
        self._replica, self._store = replica, replica.world.store

    def read(self) -> MemorySecret | None:
        return self._replica.call(self._store.read)

    def create(self, data: Mapping[str, bytes]) -> MemorySecret | None:
        return self._replica.call(lambda: self._store.create(data))

    def replace(self, data: Mapping[str, bytes], *, resource_version: str) -> MemorySecret | None:
        return self._replica.call(lambda: self._store.replace(data, resource_version=resource_version))


class _Leases:
    def __init__(self, replica: Replica) -> None:
        self._replica, self._leases = replica, replica.world.leases

    def hold(
        self,
        replica: str,
        fingerprint: str,
        *,
        now: datetime,
        ends_at: datetime,
        following: str | None = None,
    ) -> None:
        self._replica.call(
            lambda: self._leases.hold(replica, fingerprint, now=now, ends_at=ends_at, following=following)
        )

    def live(self, now: datetime) -> list[ReplicaLease]:
        return self._replica.call(lambda: self._leases.live(now))

    def release(self, replica: str) -> None:
        self._leases.release(replica)


class _Configuration:
    def __init__(self, replica: Replica) -> None:
        self._replica, self._configuration = replica, replica.world.configuration

    @property
    def label(self) -> str:
        return self._configuration.label

    def read(self) -> Read | None:
        return self._replica.call(self._configuration.read)

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        return self._replica.call(lambda: self._configuration.patch(operations))
