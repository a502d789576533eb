"""caBundle in the cluster: whether the entries of a webhook configuration carry our CA, and making them do so."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from certs.bundle import WebhookEntry, bundle_patch, entries_without, url_hosts
from webhook.errors import ClusterError

__all__ = ["WEBHOOK_NAMES", "Configuration", "Registration"]

WEBHOOK_NAMES = frozenset(
    f"{name}.custom-scheduler.io"
    for name in (
        "deny.pods",
        "deny.workloads",
        "mutate.namespaces",
        "mutate.pods",
        "verify.namespaces",
        "verify.pods",
        "warn.pods",
        "warn.workloads",
    )
)
"""The entries that are ours. Whatever else stands in our configurations was put there by others, with a CA of
their own, even under our domain."""

log = logging.getLogger("custom_scheduler.certificates")


class Configuration(Protocol):
    """One webhook configuration in the cluster."""

    @property
    def label(self) -> str:
        """Its kind and name, for people."""

    def read(self) -> Sequence[WebhookEntry] | None:
        """Return its entries, or None if there is no such configuration; raises ClusterError."""

    def patch(self, operations: Sequence[Mapping[str, str]]) -> None:
        """Apply a JSON Patch; raises ClusterError, also where a `test` fails."""


class Registration:
    """Our entries in one webhook configuration. Others create it, edit it and delete it; we write caBundle."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._entries: Sequence[WebhookEntry] | None = ()
        self.fault = f"caBundle of {configuration.label} not looked at yet"

    fault: str
    """Why calls through this configuration would fail, or empty.

    An API server that doesn't answer adds no fault, since what was written is still there. Neither does a missing
    configuration: nobody calls through it, and an installer that waits for a ready server before it registers it
    would wait for ever.
    """

    def read(self) -> frozenset[str]:
        """Look at the configuration, and return the hosts under which its URLs call us; raises ClusterError."""
        entries = self._configuration.read()
        if entries is None and self._entries is not None:
            log.warning(
                "%s is not in the cluster: nothing calls this webhook through it", self._configuration.label
            )
        self._entries = entries
        return url_hosts(entries or (), WEBHOOK_NAMES)

    def publish(self, bundle: bytes) -> None:
        """Give the entries that `read` found this caBundle where they have another; raises ClusterError."""
        entries = self._entries or ()
        operations = bundle_patch(bundle, entries, WEBHOOK_NAMES)
        if not operations:
            self.fault = ""
            return
        names = [name for _, name in entries_without(bundle, entries, WEBHOOK_NAMES)]
        try:
            self._configuration.patch(operations)
        except ClusterError as error:
            self.fault = (
                f"caBundle of {', '.join(names)} in {self._configuration.label} is not our CA: {error}"
            )
            raise
        self.fault = ""
        log.info("caBundle written into %s", self._configuration.label, extra={"webhooks": names})
