"""The admission service in one worker process: its parts, in the order they start and stop."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

from webhook.observe import admission_metrics
from webhook.observe.exposition import exposition
from webhook.periodic import PeriodicThread
from webhook.policy.reload import PolicySource
from webhook.server.app import create_app
from webhook.serving.service import Certificates

__all__ = ["POLICY_POLL_SECONDS", "AdmissionService", "Companion"]

# A policy is to be in force within two seconds of its file's change.
POLICY_POLL_SECONDS = 0.5


class Companion(Protocol):
    """Something that runs beside the webhook in the same process, as the binder does."""

    def start(self) -> None:
        """Begin, without waiting for anything from outside."""

    def stop(self) -> None:
        """End, within seconds."""


class AdmissionService:
    """What one worker serves: the application, its TLS context, readiness and metrics."""

    def __init__(
        self,
        *,
        policy: PolicySource,
        certificates: Certificates,
        companion: Callable[[], Companion] | None = None,
    ) -> None:
        self.app = create_app(lambda: policy.current)
        self._policy = policy
        self._certificates = certificates
        self._companion = companion
        self._running = ExitStack()

    def start(self) -> None:
        """Start the threads of this worker; called after the fork, since threads don't survive one."""
        # What was forked is the policy that the program started with, which may be days old, and the file may be a
        # bad one by now.
        self._policy.resume()
        self._reload_policy()
        admission_metrics.POLICY_GENERATION.set(self._policy.current.generation)
        self._certificates.start()
        self._running.callback(self._certificates.stop)
        reload = PeriodicThread("policy-reload", self._reload_policy, seconds=POLICY_POLL_SECONDS)
        reload.start()
        self._running.callback(reload.stop)
        if self._companion is not None:
            companion = self._companion()
            companion.start()
            self._running.callback(companion.stop)

    def stop(self) -> None:
        """Stop what `start` started, last first."""
        self._running.close()

    def ssl_context(self) -> ssl.SSLContext:
        """Return the context that new handshakes use."""
        return self._certificates.context()

    def not_ready(self) -> list[str]:
        """Return why this worker should get no requests; nothing when it should."""
        return self._certificates.not_ready()

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return exposition()

    def _reload_policy(self) -> None:
        refused = self._policy.refused
        if self._policy.poll():
            admission_metrics.POLICY_GENERATION.set(self._policy.current.generation)
        admission_metrics.POLICY_REFUSED.set(self._policy.problem is not None)
        admission_metrics.POLICY_RELOAD_FAILURES.inc(self._policy.refused - refused)
