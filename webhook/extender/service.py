"""The extender in one worker process: its parts, in the order they start and stop."""

from __future__ import annotations

import random
import ssl
import threading
from collections.abc import Callable

from webhook.extender.app import create_app
from webhook.extender.mirror import Mirror
from webhook.extender.verbs import Verbs
from webhook.kube.transport import KubeClient
from webhook.observe.exposition import exposition
from webhook.scheduling.cache import Cache
from webhook.scheduling.framework import Framework
from webhook.serving.service import Certificates

__all__ = ["ExtenderService"]


class ExtenderService:
    """Answers kube-scheduler by one profile, over a picture of the cluster of its own. `stop` closes `client` and `framework`."""

    def __init__(
        self,
        client: KubeClient,
        *,
        cache: Cache,
        framework: Framework,
        certificates: Certificates,
        clock: Callable[[], float],
        rng: random.Random,
        best_score: int,
    ) -> None:
        lock = threading.Lock()
        self._client = client
        self._framework = framework
        self._certificates = certificates
        self._mirror = Mirror(client, cache, lock)
        self.app = create_app(Verbs(framework, cache, lock, clock=clock, rng=rng, best_score=best_score))

    def start(self) -> None:
        """Start the threads of this worker; called after the fork, since threads don't survive one."""
        self._certificates.start()
        self._mirror.start()

    def stop(self) -> None:
        """Stop what `start` started, last first."""
        self._mirror.stop()
        self._certificates.stop()
        self._framework.close()
        self._client.close()

    def ssl_context(self) -> ssl.SSLContext:
        """Return the context that new handshakes use."""
        return self._certificates.context()

    def not_ready(self) -> list[str]:
        """Return why this worker should get no requests; nothing when it should."""
        return [*self._certificates.not_ready(), *self._mirror.not_ready()]

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return exposition()
