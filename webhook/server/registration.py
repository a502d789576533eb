"""caBundle in the cluster: whether the entries of a webhook configuration carry our CA, and making them do so."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from certs.bundle import Configured, bundle_patch, bundles, entries_without, url_hosts
from webhook.errors import ClusterError
from webhook.policy.names import WEBHOOK_NAMES

__all__ = ["Configuration", "Registration"]

log = logging.getLogger("custom_scheduler.certificates")


class Configuration(Protocol):
    """One webhook configuration in the cluster."""

    @property
    def label(self) -> str:
        """Its kind and name, for people."""

    def read(self) -> Configured | None:
        """Return it as it is now, or None if there is no such configuration; raises ClusterError."""

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        """Apply a JSON Patch; False where a `test` failed. Raises ClusterError."""


class Registration:
    """Our entries in one webhook configuration. Others create it, edit it and delete it; we write caBundle."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._configured: Configured | None = None
        self._is_missing = False
        self.fault = f"caBundle of {configuration.label} not looked at yet"

    fault: str
    """Why calls through this configuration would fail, or empty.

    An API server that doesn't answer adds no fault, since what was written is still there. Neither does a missing
    configuration: nobody calls through it, and an installer that waits for a ready server before it registers it
    would wait for ever.
    """

    def read(self) -> frozenset[str]:
        """Look at the configuration, and return the hosts under which its URLs call us; raises ClusterError."""
        configured = self._configuration.read()
        if configured is None and not self._is_missing:
            log.warning(
                "%s is not in the cluster: nothing calls this webhook through it", self._configuration.label
            )
        self._configured, self._is_missing = configured, configured is None
        return url_hosts(configured.webhooks, WEBHOOK_NAMES) if configured else frozenset()

    @property
    def bundles(self) -> list[bytes]:
        """The caBundle of each of our entries, as `read` found them."""
        return bundles(self._configured.webhooks, WEBHOOK_NAMES) if self._configured else []

    def publish(self, bundle: bytes) -> bool:
        """Give the entries that `read` found this caBundle where they have another; raises ClusterError.

        False if others have written the configuration since it was read, and nothing was written.
        """
        operations = bundle_patch(bundle, self._configured, WEBHOOK_NAMES) if self._configured else []
        if self._configured is None or not operations:
            self.fault = ""
            return True
        names = [name for _, name in entries_without(bundle, self._configured.webhooks, WEBHOOK_NAMES)]
        lacking = f"caBundle of {', '.join(names)} in {self._configuration.label} is not our CA"
        try:
            is_written = self._configuration.patch(operations)
        except ClusterError as error:
            self.fault = f"{lacking}: {error}"
            raise
        if not is_written:
            self.fault = f"{lacking}: others are writing it too"
            return False
        self.fault = ""
        log.info("caBundle written into %s", self._configuration.label, extra={"webhooks": names})
        return True
