"""caBundle in the cluster: whether the entries of a webhook configuration carry our CA, and making them do so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from certs.bundle import (
    Configured,
    amended,
    bundle_patch,
    bundles,
    certificates_in,
    entries_without,
    url_hosts,
)
from certs.clock import Clock, utc_now
from certs.neighbours import Neighbours
from certs.pair import pem_of
from certs.trust import SETTLE_SECONDS
from webhook.errors import ClusterError
from webhook.kube.clock import boot_time
from webhook.policy.names import SERVICE, WEBHOOK_NAMES

__all__ = ["Configuration", "Registered", "Registration"]

log = logging.getLogger("custom_scheduler.server")


class Registered(Configured, Protocol):
    """A webhook configuration as it was when it was read."""

    @property
    def is_injected(self) -> bool:
        """Whether it asks cert-manager's injector for a CA in its caBundles."""


class Configuration(Protocol):
    """One webhook configuration in the cluster."""

    @property
    def label(self) -> str:
        """Its kind and name, for people."""

    def read(self) -> Registered | None:
        """Return it as it is now, or None if there is no such configuration; raises ClusterError."""

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        """Apply a JSON Patch; False where a `test` failed. Raises ClusterError."""


class Registration:
    """Our entries in one webhook configuration. Others create it, edit it and delete it; we write caBundle.

    `clock` judges the certificates of others; `boot_clock` gives seconds that also pass while the machine is suspended.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        settle_seconds: float = SETTLE_SECONDS,
        clock: Clock = utc_now,
        boot_clock: Callable[[], float] = boot_time,
    ) -> None:
        self._configuration = configuration
        self._settle_seconds = settle_seconds
        self._boot_clock = boot_clock
        self._neighbours = Neighbours(product=SERVICE, boot_clock=boot_clock, clock=clock)
        self._configured: Registered | None = None
        self._is_missing = False
        self._fault = f"caBundle of {configuration.label} not looked at yet"
        self._joined_at: float | None = None
        self._has_published = False

    @property
    def fault(self) -> str:
        """Why calls through this configuration would fail, or empty.

        An API server that doesn't answer adds no fault, since what was written is still there. Neither does a missing
        configuration: nobody calls through it, and an installer that waits for a ready server before it registers it
        would wait for ever. Where others are called already, and we have just come beside them, they can be called
        until each API server has learned of our CA: it may have a watch that lags.
        """
        if not self._fault and self._joined_at is not None:
            left = self._joined_at + self._settle_seconds - self._boot_clock()
            if left > 0:
                return (
                    f"our CA came into caBundle of {self._configuration.label} beside the CA of others just now: "
                    f"API servers have {left:.0f} s more to learn of it"
                )
        return self._fault

    def read(self) -> frozenset[str]:
        """Look at the configuration, and return the hosts under which its URLs call us; raises ClusterError."""
        configured = self._configuration.read()
        if configured is None and not self._is_missing:
            log.warning(
                "%s is not in the cluster: nothing calls this webhook through it", self._configuration.label
            )
        self._configured, self._is_missing = configured, configured is None
        self._neighbours.saw(self.bundles, is_injected=configured is not None and configured.is_injected)
        return url_hosts(configured.webhooks, WEBHOOK_NAMES) if configured else frozenset()

    @property
    def bundles(self) -> list[bytes]:
        """The caBundle of each of our entries, as `read` found them."""
        return bundles(self._configured.webhooks, WEBHOOK_NAMES) if self._configured else []

    def publish(self, bundle: bytes) -> bool:
        """Put these CAs into the entries that `read` found, beside those of others that stay; raises ClusterError.

        False if others have written the configuration since it was read, and nothing was written.
        """
        self._neighbours.published(bundle)
        if self._configured is None:
            self._fault = ""
            return True

        def wanted(present: bytes) -> bytes:
            return amended(present, bundle, self._neighbours.stays)

        operations = bundle_patch(wanted, self._configured, WEBHOOK_NAMES)
        names = [each["value"] for each in operations if each["path"].endswith("/name")]
        if operations and not self._write(operations, names):
            return False
        self._fault = ""
        if not self._has_published and self._joins(bundle, wanted):
            self._joined_at = self._boot_clock()
        self._has_published = True
        return True

    def _write(self, operations: Sequence[Mapping[str, str]], names: Sequence[str]) -> bool:
        lacking = f"caBundle of {', '.join(names)} in {self._configuration.label} is not our CA"
        try:
            is_written = self._configuration.patch(operations)
        except ClusterError as error:
            self._fault = f"{lacking}: {error}"
            raise
        if not is_written:
            self._fault = f"{lacking}: others are writing it too"
            return False
        log.info("caBundle written into %s", self._configuration.label, extra={"webhooks": names})
        return True

    def _joins(self, bundle: bytes, wanted: Callable[[bytes], bytes]) -> bool:
        """Tell whether others were called through an entry by which API servers could not have called us."""
        assert self._configured is not None
        signer = pem_of(certificates_in(bundle)[:1])
        without = entries_without(signer, self._configured.webhooks, WEBHOOK_NAMES)
        return any(
            entry.name in without and wanted(entry.client_config.ca_bundle) != bundle
            for entry in self._configured.webhooks
        )
