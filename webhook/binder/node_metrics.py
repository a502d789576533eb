"""Reads metrics.k8s.io now and then, for plugins that rank nodes by what is in use."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import msgspec

from webhook.errors import ClusterError
from webhook.kube.decoder import Decoder
from webhook.kube.transport import KubeClient
from webhook.scheduling.objects import NodeMetrics

__all__ = ["NodeMetricsReader"]

log = logging.getLogger("custom_scheduler.binder")

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
# As often as metrics-server measures by its manifests.
INTERVAL_SECONDS = 15.0


class NodeMetricsReader:
    """While `wanted`, reads the measurements of all nodes each `interval` seconds and hands them to `tell`.

    It can't be watched: the API serves lists alone. Where it can't be read, that is logged once, and `tell` hears
    of no measurement.
    """

    def __init__(
        self,
        client: KubeClient,
        tell: Callable[[Sequence[NodeMetrics]], None],
        *,
        wanted: Callable[[], bool],
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        self._client = client.apart()
        self._tell = tell
        self._wanted = wanted
        self._interval = interval
        self._decoder = Decoder(NodeMetrics, PATH)
        self._stop = threading.Event()
        self._trouble = False

    def run(self) -> None:
        """Read until `stop`; returns soon after it, also out of a blocked read."""
        while True:
            if self._wanted():
                self._tell(self._read())
            if self._stop.wait(self._interval):
                return

    def stop(self) -> None:
        """Make `run` return; from any thread."""
        self._stop.set()
        self._client.close()

    def _read(self) -> Sequence[NodeMetrics]:
        try:
            # metrics-server knows no pages.
            answer = self._client.request("GET", PATH)
            measurements = self._decoder.page(answer).items or []
        except (ClusterError, msgspec.DecodeError) as error:
            if not self._trouble and not self._stop.is_set():
                log.warning(
                    "node metrics can't be read, so nodes are ranked by requests meanwhile: %s", error
                )
            self._trouble = True
            return ()
        if self._trouble:
            log.info("node metrics can be read again")
        self._trouble = False
        return measurements
