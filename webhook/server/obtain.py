"""The CA at a start: found in the Secret, waited for, or made."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from certs.clock import Clock, utc_now
from certs.custody import Custody, parse_custody
from certs.errors import CertificateError, InvalidPair
from certs.rotation import next_step
from certs.store import Secret, SecretStore, ensure_custody
from webhook.errors import ClusterError, ConfigurationError
from webhook.kube.backoff import Backoff
from webhook.server.custodian import PRODUCT, SKEW, Leases

__all__ = ["RETURN_SECONDS", "obtain_custody"]

OBTAIN_SECONDS = 30.0
"""How long a start waits for the CA's Secret."""

RETURN_SECONDS = 20.0
"""How long of that for a CA that was lost: a replica that runs is told of it by a watch, and puts it back.

Longer than one request of that replica may hang (webhook/kube/transport.py) with the pause before the next.
"""

_RETURN_POLL_SECONDS = 0.25

log = logging.getLogger("custom_scheduler.server")


def obtain_custody(
    store: SecretStore,
    leases: Leases,
    *,
    clock: Clock = utc_now,
    machine_clock: Clock = utc_now,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Custody:
    """Return what the Secret holds, after making a CA where there was none; for a start, before any fork.

    `clock` is the API server's. Where `machine_clock` says something else, one of them is wrong, and a CA whose time
    seems to be over stays. Where the Secret lost its CA and a Lease says that replicas run, they get 20 s to put back
    what they hold. Tries again for 30 s while the API server can't be reached or refuses, then raises
    ConfigurationError.
    """
    begun = monotonic()
    backoff = Backoff(first=0.25, longest=2.0)
    told = ""
    while True:
        try:
            # Read first, since the API server tells its time with its answers.
            secret = store.read()
            now = clock()
            if monotonic() < begun + RETURN_SECONDS and _may_come_back(secret, leases, now):
                sleep(_RETURN_POLL_SECONDS)
                continue
            # A CA whose time is over gives way to its successor, if it has one; the rest is for those who know more.
            step = partial(next_step, name=PRODUCT, now=now, is_settled=lambda _: False, served=None)
            if abs(now - machine_clock()) <= SKEW:
                return ensure_custody(store, PRODUCT, clock=clock, step=step)
            return ensure_custody(store, PRODUCT, clock=clock, is_clock_sure=False)
        except (ClusterError, CertificateError) as error:
            if monotonic() >= begun + OBTAIN_SECONDS:
                raise ConfigurationError(
                    f"no certificate authority after {OBTAIN_SECONDS:g} s: {error}; "
                    "to serve without a cluster, give --tls-cert and --tls-key"
                ) from error
            if str(error) != told:
                told = str(error)
                log.warning("waiting for the certificate authority: %s", told)
            sleep(backoff.after(error))


def _may_come_back(secret: Secret | None, leases: Leases, now: datetime) -> bool:
    """Tell whether the Secret has lost a CA that some replica may hold."""
    try:
        parse_custody(secret.data if secret else {}, source="the CA's Secret")
    except InvalidPair:
        return bool(leases.live(now))
    return False
