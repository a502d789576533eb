"""What custodians share, in memory: a Secret, a configuration, Leases, and clocks that a test moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.custody import Custody, Phase, parse_custody
from certs.rotation import begin
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases
from webhook.server.custodian import Custodian
from webhook.server.registration import Registration

SETTLE = timedelta(seconds=60)


class World:
    """A Secret, a configuration and Leases that several replicas share, and the clocks."""

    def __init__(self) -> None:
        self.now = self.machine = utc_now()
        self.boot = 0.0
        self.custody = Custody(authority=create_authority("custom-scheduler", self.now))
        self.store = MemoryStore(self.custody.data)
        self.configuration = MemoryConfiguration("deny.pods.custom-scheduler.io")
        self.leases = MemoryLeases()

    def replica(self, name: str = "webhook-1") -> Replica:
        return Replica(self, name)

    def pass_(self, time: timedelta) -> None:
        self.now += time
        self.machine += time
        self.boot += time.total_seconds()

    @property
    def secret(self) -> Custody:
        assert self.store.secret is not None
        return parse_custody(self.store.secret.data, source="the CA's Secret")

    def reach(self, phase: Phase, replica: Replica) -> None:
        """Let `replica` take the first rotation as far as `phase`."""
        for _ in range(2):
            replica.look()
            self.pass_(SETTLE)
        if phase == "stable":
            return
        self.begin()
        replica.look()  # publishes
        replica.look()  # sees it published
        if phase == "switched":
            self.pass_(SETTLE)
            replica.look()

    def begin(self) -> Authority:
        """Publish a successor in the Secret and return it."""
        under_way = begin(self.secret, "custom-scheduler", self.now)
        self.store.put(under_way.data)
        assert under_way.successor is not None
        return under_way.successor

    def switch(self, before: Authority) -> Authority:
        """Have somebody else's CA sign, as they have it: with the one before trusted beside it; return it."""
        signer = create_authority("custom-scheduler", self.now)
        both = replace(signer, trusted=(signer.certificate, before.certificate))
        self.store.put(Custody(authority=both, phase="switched").data)
        return both


class Replica:
    """One replica: the CA that it serves, and its custodian."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        custody = world.secret
        self.serving = custody.authority
        self.custodian = Custodian(
            custody,
            replica=name,
            store=world.store,
            registrations=[Registration(world.configuration)],
            leases=world.leases,
            settle_seconds=SETTLE.total_seconds(),
            clock=lambda: world.now,
            machine_clock=lambda: world.machine,
            boot_clock=lambda: world.boot,
        )

    def look(self) -> None:
        self.custodian.follow(self.serving)
        self.serving = self.custodian.authority
        self.custodian.hold(self.serving)
        assert self.custodian.publish()
