"""The CA in the cluster: the Secret that holds it, the caBundles that carry it, the Leases of those who serve it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from certs.authority import Authority
from certs.clock import Clock, utc_now
from certs.custody import Custody
from certs.leaf import LEAF_LIFETIME
from certs.rotation import adopt, next_step, reinstate
from certs.store import SecretStore, ensure_custody
from certs.trust import Trust
from webhook.errors import ClusterError
from webhook.kube.clock import boot_time
from webhook.kube.replicas import ReplicaLease
from webhook.server.registration import Registration

__all__ = ["LOOK_SECONDS", "PRODUCT", "Custodian", "Leases"]

PRODUCT = "custom-scheduler"

LOOK_SECONDS = 60.0
"""How often the Secret and the clock are looked at when nothing has told of a change."""

HOLD_SECONDS = 30.0
"""How old a replica's Lease may become before a look renews it."""

SKEW = timedelta(hours=1)
"""How far this machine's clock and the API server's may be apart before one of them is taken to be wrong."""

# How often one look reads everything, where what it finds changes each time.
_ATTEMPTS = 5

log = logging.getLogger("custom_scheduler.server")


class Leases(Protocol):
    """Where each replica tells the others the CA whose certificate it serves."""

    def hold(
        self,
        replica: str,
        fingerprint: str,
        *,
        now: datetime,
        ends_at: datetime,
        following: str | None = None,
    ) -> None:
        """Tell that `replica` serves a leaf of this CA, and none after `ends_at` that it doesn't tell of by then.

        `following` is the CA that it is about to serve instead.
        """

    def live(self, now: datetime) -> Sequence[ReplicaLease]:
        """Return what replicas told that may still be true; raises ClusterError."""

    def release(self, replica: str) -> None:
        """Take back what `replica` told."""


class Custodian:
    """Follows the CA of the Secret on behalf of one replica, and takes a rotation further where it can.

    The order of a look matters: `follow`, then the caller serves a leaf of `authority` and tells so by `hold`, then
    `publish`.
    docs/notes/ca-rotation.md says why. `clock` is the API server's, by which certificates are judged; where
    `machine_clock`, this machine's, says something else, one of them is wrong, and nothing that turns on the time is
    done on behalf of others.
    """

    def __init__(
        self,
        custody: Custody,
        *,
        replica: str,
        store: SecretStore,
        registrations: Sequence[Registration],
        leases: Leases,
        settle_seconds: float,
        clock: Clock = utc_now,
        machine_clock: Clock = utc_now,
        boot_clock: Callable[[], float] = boot_time,
    ) -> None:
        self.authority = custody.authority
        self.hosts: frozenset[str] = frozenset()
        self._custody = custody
        self._replica = replica
        self._store = store
        self._registrations = registrations
        self._leases = leases
        self._settle_seconds = settle_seconds
        self._clock = clock
        self._machine_clock = machine_clock
        self._boot_clock = boot_clock
        self._trust = Trust(settle_seconds=settle_seconds, clock=boot_clock)
        self._is_called = False
        self._others_are_called = False
        self._told: tuple[str, str | None] | None = None
        self._told_at = 0.0
        self._is_clock_sure = True

    authority: Authority
    """The CA to serve a leaf of. It changes only by `follow`: a change has to be told to the others."""

    hosts: frozenset[str]
    """The hosts under which the URLs of our entries called us when they were last read."""

    @property
    def look_seconds(self) -> float:
        """After which time to look again, where nothing tells of a change before."""
        match self._custody.phase:
            case "published":
                return min(LOOK_SECONDS, self._settle_seconds / 4)
            case "switched":
                return min(LOOK_SECONDS, self._settle_seconds)
            case _:
                return LOOK_SECONDS

    def faults(self) -> list[str]:
        """Return why calls through our configurations would fail."""
        faults = [each.fault for each in self._registrations if each.fault]
        if self._others_are_called and not self._trust.is_established(self.authority.fingerprint):
            faults.append(
                "the CA is new in caBundle, and replicas with another one are called: "
                f"API servers have {self._settle_seconds:g} s to learn of it"
            )
        return faults

    def follow(self, serving: Authority) -> None:
        """Bring this replica's knowledge in line with the cluster; raises ClusterError and CertificateError.

        `serving` is the CA whose leaf is served.
        """
        # It may have become ready since the last look. Who slept for too long begins anew: its CA may have been dropped
        # meanwhile, and may have come back a moment ago.
        self._is_called = (self._is_called or not self.faults()) and not self._trust.is_outdated
        following: Authority | None = None
        for _ in range(_ATTEMPTS):
            began = self._boot_clock()
            self._read(serving, following, began)
            authority = self._choice(serving)
            others_are_called = self._are_others_called(authority)
            self._check_time(began)
            if authority.certificate in {each.certificate for each in (serving, following) if each}:
                self.authority, self._others_are_called = authority, others_are_called
                return
            # Told before it is served, and read anew after that: an older state may have been put into the Secret just
            # now, and the CA dropped by those who had not heard of it.
            following = authority
        raise ClusterError("the CA's Secret is written again and again: find out who else writes it")

    def _read(self, serving: Authority, following: Authority | None, began: float) -> None:
        # Told before the Secret is read: who drops a CA reads the Leases after the Secret that lets him drop it.
        self.hold(serving, following=following)
        # Read before the Secret: a bundle is written only over what is older than the Secret it comes from.
        self.hosts = frozenset().union(*[each.read() for each in self._registrations])
        self._trust.saw([bundle for each in self._registrations for bundle in each.bundles])
        self._check_clock()
        self._custody = ensure_custody(
            self._store,
            PRODUCT,
            clock=self._clock,
            held=self._custody,
            step=partial(self._step, serving, began),
            is_clock_sure=self._is_clock_sure,
        )

    def hold(self, serving: Authority, *, following: Authority | None = None) -> None:
        """Tell the others what is served, where that is news or was told long ago; raises ClusterError.

        `following` is what is about to be served.
        """
        told = serving.fingerprint, following.fingerprint if following else None
        boot = self._boot_clock()
        if told != self._told or boot - self._told_at >= HOLD_SECONDS:
            now = self._clock()
            # Each leaf that was signed by now has ended by then.
            self._leases.hold(self._replica, told[0], now=now, ends_at=now + LEAF_LIFETIME, following=told[1])
            self._told, self._told_at = told, boot

    def publish(self) -> bool:
        """Put the Secret's CAs into caBundle; raises ClusterError.

        False if others wrote a configuration since it was read: then everything has to be looked at anew.
        """
        done, failure = True, None
        for each in self._registrations:
            # One configuration that can't be written doesn't keep the others from getting their CA.
            try:
                done &= each.publish(self._custody.authority.bundle)
            except ClusterError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        self._is_called = self._is_called or not self.faults()
        return done

    def leave(self) -> None:
        """Tell the others that this replica serves nothing any more."""
        if self._told:
            self._leases.release(self._replica)

    def _choice(self, serving: Authority) -> Authority:
        """Return the CA of the Secret, once the API servers have had time to learn of it, and else `serving`."""
        signer = self._custody.authority
        if (
            self._is_called
            and serving.certificate in signer.trusted
            and self._may_stay_with(serving, signer)
            and not self._trust.is_settled(signer.fingerprint)
            and serving.certificate.not_valid_after_utc > self._clock()
        ):
            return serving
        return signer

    def _may_stay_with(self, serving: Authority, signer: Authority) -> bool:
        # A bundle that has neither was wiped: the others are about to write what they know.
        return self._trust.may_be_trusted(serving.certificate) or not self._trust.is_carried(
            signer.fingerprint
        )

    def _are_others_called(self, authority: Authority) -> bool:
        """Tell whether a replica with another CA may be called, where API servers may not know of this one yet."""
        ours = authority.fingerprint
        return not self._trust.is_established(ours) and bool(self._served(but=self._replica) - {ours})

    def _step(self, serving: Authority, began: float, custody: Custody) -> Custody | None:
        self._check_time(began)
        now = self._clock()
        self._trust.met(custody.authority.trusted)
        successor = custody.successor.fingerprint if custody.successor else None
        self._trust.named(custody.authority.fingerprint, successor)
        mended = self._reinstated(serving, custody, now) or custody
        mended = adopt(mended, now=now, known=self._trust.known, served=self._served) or mended
        if mended is not custody:
            return mended
        if not self._is_clock_sure:
            return None
        return next_step(
            custody,
            name=PRODUCT,
            now=now,
            is_settled=self._trust.is_settled,
            served=self._served,
        )

    def _reinstated(self, serving: Authority, custody: Custody, now: datetime) -> Custody | None:
        """Return what makes of the Secret's CA the successor of ours, where API servers know ours alone."""
        found = custody.authority
        if (
            not self._is_called
            or found.certificate == serving.certificate
            # Of those who see nothing registered, some know for longer than others that nobody calls.
            or self._trust.is_uncalled
            or self._trust.is_carried(found.fingerprint)
            or serving.certificate not in self._trust.carried
        ):
            return None
        return reinstate(custody, serving, now)

    def _served(self, *, but: str = "") -> set[str]:
        live = self._leases.live(self._clock())
        return set().union(*[lease.fingerprints for lease in live if lease.replica != but])

    def _check_time(self, began: float) -> None:
        """Raise ClusterError where what this look has read is old: the machine was suspended meanwhile, say.

        The others may have taken a rotation further.
        """
        if self._boot_clock() - began > LOOK_SECONDS:
            raise ClusterError(f"the cluster was looked at for more than {LOOK_SECONDS:g} s: looking anew")

    def _check_clock(self) -> None:
        skew = abs(self._clock() - self._machine_clock())
        is_sure = skew <= SKEW
        if is_sure and not self._is_clock_sure:
            log.info("this machine's clock and the API server's agree again")
        if not is_sure and self._is_clock_sure:
            log.warning(
                "this machine's clock and the API server's are %d s apart: set the one that is wrong; "
                "until then this replica takes no CA rotation further",
                skew.total_seconds(),
            )
        self._is_clock_sure = is_sure
