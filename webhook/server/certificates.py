"""The certificate that a worker serves: from files that others renew, or signed here by our own CA."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs.authority import Authority
from certs.client_ca import ClientAuthorityFile
from certs.clock import Clock, utc_now
from certs.context import TLS_FLOOR, ClientAuthority, TlsVersion, server_context
from certs.errors import CertificateError
from certs.files import CertificateFiles
from certs.leaf import LEAF_LIFETIME, Leaf, sign_leaf
from webhook.errors import ClusterError, ConfigurationError
from webhook.kube.backoff import Backoff
from webhook.kube.clock import boot_time
from webhook.observe.certificate_metrics import EXPIRY, REFUSED
from webhook.periodic import PeriodicThread
from webhook.server.custodian import LOOK_SECONDS, Custodian

__all__ = ["FileCertificates", "SelfSignedCertificates"]

FILE_POLL_SECONDS = 5.0

QUIET_SECONDS = 0.5
"""How long further changes are gathered before a look; bounds what a fight over caBundle can cost."""

# Whoever else writes a configuration leaves a good one behind, so a loser seldom loses twice.
_ATTEMPTS = 5

log = logging.getLogger("custom_scheduler.server")


class FileCertificates:
    """Serves a pair from files, and follows them as others renew it. Never writes caBundle.

    Make it before the fork: a worker that comes later then has a good pair also where the files are bad by then.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        client_ca: Path | None = None,
        tls_min_version: TlsVersion = TLS_FLOOR,
        settle_seconds: float = 0.0,
        clock: Clock = utc_now,
        poll_seconds: float = FILE_POLL_SECONDS,
    ) -> None:
        """Load the pair; raises ConfigurationError if it can't be served.

        A certificate of another CA than the one served waits for `settle_seconds`.
        """
        try:
            self._files = CertificateFiles(
                certificate,
                key,
                client_ca=client_ca,
                tls_min_version=tls_min_version,
                settle_seconds=settle_seconds,
                clock=clock,
                boot_clock=boot_time,
            )
        except CertificateError as error:
            raise ConfigurationError(str(error)) from error
        self._clock = clock
        self._poll_seconds = poll_seconds

    def start(self) -> None:
        """Begin to follow the files; after the fork, as threads don't survive one."""
        self.poll()
        self._thread = PeriodicThread("certificate-files", self.poll, seconds=self._poll_seconds)
        self._thread.start()

    def stop(self) -> None:
        """End what `start` began."""
        self._thread.stop()

    def context(self) -> ssl.SSLContext:
        """Return the context that new handshakes use."""
        return self._files.context

    def not_ready(self) -> list[str]:
        """Return why API servers would refuse what is served."""
        return _expired(self._files.expires_at, self._clock(), self._files.fault)

    def poll(self) -> None:
        """Look at the files once, and serve them if they changed and can be."""
        self._files.poll()
        self._tell()

    def _tell(self) -> None:
        EXPIRY.labels("leaf").set(self._files.expires_at.timestamp())
        REFUSED.set(bool(self._files.fault))


@dataclass(frozen=True, kw_only=True)
class _Served:
    leaf: Leaf
    authority: Authority
    client_ca: ClientAuthority | None
    context: ssl.SSLContext

    @property
    def ends_at(self) -> datetime:
        return self.leaf.certificate.not_valid_after_utc


class SelfSignedCertificates:
    """Serves a leaf signed in memory by the CA in the Secret, and keeps that CA in caBundle.

    Each look brings in line what this replica knows, the leaf it serves and what the configurations carry. The leaf
    is brought in line with the clock whether or not an API server answers. A look follows each change that `watch`
    tells of; `watch(changed)` runs for as long as its context is entered. `close` ends whatever the custodian and
    the watch wait for, so that a stop doesn't wait for an API server.
    """

    def __init__(
        self,
        *,
        hosts: frozenset[str],
        custodian: Custodian,
        watch: Callable[[Callable[[], None]], AbstractContextManager[object]],
        close: Callable[[], None],
        client_ca: Path | None = None,
        tls_min_version: TlsVersion = TLS_FLOOR,
        clock: Clock = utc_now,
        quiet_seconds: float = QUIET_SECONDS,
        leaf_lifetime: timedelta = LEAF_LIFETIME,
    ) -> None:
        """Sign the first leaf; raises ConfigurationError if the CA or the client CA can't be used."""
        self._service_hosts = hosts
        self._custodian = custodian
        self._watch = watch
        self._close = close
        self._tls_min_version = tls_min_version
        self._clock = clock
        self._quiet_seconds = quiet_seconds
        self._leaf_lifetime = leaf_lifetime
        self._backoff = Backoff()
        self._fault = ""
        self._changed = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="certificates", daemon=True)
        try:
            self._client_ca = ClientAuthorityFile(client_ca) if client_ca else None
            self._served = self._sign(
                custodian.authority, self._client_ca.current if self._client_ca else None
            )
        except CertificateError as error:
            raise ConfigurationError(str(error)) from error

    def start(self) -> None:
        """Begin to look; after the fork, as threads don't survive one."""
        self._thread.start()

    def stop(self) -> None:
        """End what `start` began, and wait until a look under way is over."""
        self._stopping.set()
        self._close()
        self._changed.set()
        self._thread.join()
        self._custodian.leave()

    def context(self) -> ssl.SSLContext:
        """Return the context that new handshakes use."""
        return self._served.context

    def not_ready(self) -> list[str]:
        """Return why API servers would refuse what is served: no CA of ours, or one whose time is over."""
        faults = self._custodian.faults()
        if faults and self._fault and not any(self._fault in fault for fault in faults):
            faults.append(f"it can't be mended yet: {self._fault}")
        return faults + _expired(self._served.ends_at, self._clock(), self._fault)

    def look(self) -> float:
        """Bring everything in line once, and return the seconds after which to look again."""
        faults = [error for step in (self._follow_cluster, self._renew_alone) if (error := _failure_of(step))]
        self._tell()
        fault = str(faults[0]) if faults else ""
        if fault and fault != self._fault and not self._stopping.is_set():
            log.error("certificates can't be brought in line: %s", fault)
        if self._fault and not fault:
            log.info("certificates are in line again")
        self._fault = fault
        if faults:
            return self._backoff.after(faults[0])
        self._backoff.reset()
        until_due = (self._served.leaf.renew_at - self._clock()).total_seconds()
        return min(self._custodian.look_seconds, max(0.0, until_due))

    def _follow_cluster(self) -> None:
        for _ in range(_ATTEMPTS):
            self._custodian.follow(self._served.authority)
            self._renew()
            self._custodian.hold(self._served.authority)
            if self._custodian.publish():
                return
        raise ClusterError(
            f"the webhook configurations were written by others {_ATTEMPTS} times in a row: "
            "find out who else writes them (kubectl get --show-managed-fields)"
        )

    def _renew_alone(self) -> None:
        # A machine that slept until its leaf had ended knows nothing of the present: another may sign by now.
        if self._clock() < self._served.ends_at:
            self._renew()

    def _renew(self) -> None:
        served = self._served
        authority = self._custodian.authority
        client_ca = self._client_ca.poll() if self._client_ca else None
        # A host that is gone is dropped at the next renewal: a configuration that is deleted and applied again
        # must not find a certificate without its host.
        if (
            served.leaf.is_due(self._clock())
            or served.authority.certificate != authority.certificate
            or not self._custodian.hosts <= served.leaf.hosts
            or client_ca != served.client_ca
        ):
            self._served = self._sign(authority, client_ca)

    def _sign(self, authority: Authority, client_ca: ClientAuthority | None) -> _Served:
        hosts = self._service_hosts | self._custodian.hosts
        leaf = sign_leaf(authority, hosts, self._clock(), lifetime=self._leaf_lifetime)
        context = server_context(
            leaf.certificate_pem,
            leaf.key_pem,
            client_ca=client_ca,
            tls_min_version=self._tls_min_version,
        )
        log.info(
            "certificate signed",
            extra={
                "ca": authority.fingerprint,
                "expires": leaf.certificate.not_valid_after_utc.isoformat(),
                "hosts": sorted(leaf.hosts),
            },
        )
        return _Served(leaf=leaf, authority=authority, client_ca=client_ca, context=context)

    def _tell(self) -> None:
        EXPIRY.labels("ca").set(self._served.authority.certificate.not_valid_after_utc.timestamp())
        EXPIRY.labels("leaf").set(self._served.ends_at.timestamp())
        REFUSED.set(bool(self._client_ca and self._client_ca.fault))

    def _run(self) -> None:
        with self._watch(self._changed.set):
            while not self._stopping.is_set():
                self._changed.clear()
                try:
                    pause = self.look()
                except Exception:
                    log.exception("looking after the certificates failed; trying again in %g s", LOOK_SECONDS)
                    pause = LOOK_SECONDS
                self._changed.wait(pause)
                self._stopping.wait(self._quiet_seconds)


def _failure_of(step: Callable[[], None]) -> Exception | None:
    try:
        step()
    except (ClusterError, CertificateError) as error:
        return error
    return None


def _expired(expires_at: datetime, now: datetime, fault: str) -> list[str]:
    if now < expires_at:
        return []
    return [
        f"the certificate served expired at {expires_at:%Y-%m-%dT%H:%M:%SZ}: {fault or 'none newer came'}"
    ]
