"""What befalls a simulated cluster: each fault that the notes promise to survive, drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from certs.authority import create_authority
from certs.bundle import certificates_in
from certs.custody import Custody
from certs.leaf import LEAF_LIFETIME
from certs.rotation import begin
from webhook.server.custodian import PRODUCT

if TYPE_CHECKING:
    from tests.server.simulated_replica import Replica
    from tests.server.simulation import World

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def wipe(world: World) -> None:
    """An apply without caBundle."""
    world.configuration.wipe()


def unregister(world: World) -> None:
    """The configuration is deleted, and applied again within ten minutes."""
    webhooks = [{"name": name, "clientConfig": {}} for name in world.configuration.names]
    world.configuration.webhooks = None

    def register() -> None:
        world.configuration.webhooks = webhooks

    world.after(world.some(timedelta(), timedelta(minutes=10)), register)


def lose_secret(world: World) -> None:
    world.store.put(world.rng.choice([None, {}, {"ca.crt": b"garbage", "ca.key": b"garbage"}]))


def lose_successor(world: World) -> None:
    if world.store.secret is not None:
        world.store.put(dict(world.store.secret.data) | {"next.key": b""})


def restore_backup(world: World) -> None:
    backup = world.rng.choice(world.backups)
    if backup.authority.certificate.not_valid_after_utc > world.now + LEAF_LIFETIME + DAY:
        world.store.put(backup.data)


def put_another_ca(world: World) -> None:
    if world.rng.random() < 0.3:
        world.store.put(Custody(authority=create_authority("theirs", world.now)).data)


def kill(world: World) -> None:
    """A replica ends without a word, and another comes: a lost node, or one that comes back under its name."""
    gone = _one_of(world)
    world.remove(gone)
    name = gone.name if world.rng.random() < 0.5 else None
    world.after(world.some(timedelta(), timedelta(minutes=2)), lambda: world.join(name))


def replace(world: World) -> None:
    """A rollout: another replica comes, and one stops."""
    gone = _one_of(world)
    world.join()

    def stop() -> None:
        if gone.is_looking:  # a stop waits for the look under way
            world.after(timedelta(seconds=1), stop)
        elif gone in world.replicas:
            world.remove(gone)
            gone.leave()

    world.after(timedelta(seconds=30), stop)


def cut(world: World) -> None:
    """A replica doesn't reach the API server, and is reached by it."""
    _one_of(world).cut_until = world.now + world.some(HOUR, 6 * DAY)


def suspend(world: World) -> None:
    replica = _one_of(world)
    replica.asleep_until = max(replica.asleep_until, world.now + world.some(HOUR, 20 * DAY))
    # It is asked whether it is ready when it wakes, and not when something else happens next.
    world.after(replica.asleep_until - world.now, lambda: None)


def set_clock(world: World) -> None:
    """The clock of a machine jumps by up to years, and is set right within days."""
    replica = _one_of(world)
    replica.clock_error = world.some(-900 * DAY, 900 * DAY)

    def set_right() -> None:
        replica.clock_error = timedelta()

    world.after(world.some(HOUR, 3 * DAY), set_right)


def rotate(world: World) -> None:
    custody = world.custody
    if custody is not None and custody.phase == "stable" and world.rng.random() < 0.3:
        world.store.put(begin(custody, PRODUCT, world.now).data)


def is_survivable(world: World, fault: Callable[[World], None]) -> bool:
    """Tell whether some copy of the CAs that are served is left that a replica can reach.

    There are three: the Secret, caBundle, and what replicas hold that reach the API server. With all of them gone,
    nobody who writes caBundle can know what the others serve: docs/notes/ca-rotation.md has it among what can't be
    survived. Where nobody is called, caBundle tells of nobody: who starts then is the only one, and is ready at once.
    """
    served = {each.served for each in world.replicas if world.may_be_called(each)}
    custody = world.custody
    copies = {
        "secret": custody is not None and served <= set(custody.authority.trusted),
        "bundle": bool(served)
        and all(served <= set(certificates_in(each)) for each in world.configuration.bundles() or [b""]),
        "replica": any(each.is_at_hand for each in world.replicas),
    }
    return any(there for copy, there in copies.items() if copy not in DESTROYS.get(fault, ()))


FAULTS: tuple[Callable[[World], None], ...] = (
    wipe,
    unregister,
    lose_secret,
    lose_successor,
    restore_backup,
    put_another_ca,
    kill,
    replace,
    cut,
    suspend,
    set_clock,
    rotate,
)

DESTROYS: dict[Callable[[World], None], set[str]] = {
    wipe: {"bundle"},
    unregister: {"bundle"},
    lose_secret: {"secret"},
    restore_backup: {"secret"},
    put_another_ca: {"secret"},
    # With the last one that is called, there is nobody of whom caBundle could tell.
    kill: {"replica", "bundle"},
    cut: {"replica"},
    suspend: {"replica", "bundle"},
}
"""Which copies of the CA each fault may take."""


def _one_of(world: World) -> Replica:
    return world.rng.choice(world.replicas)
