"""Calls that go on while something changes, and what became of them."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Literal

from devcluster.cluster import DevCluster
from devcluster.errors import DevClusterError
from tests.e2e.objects import pod
from tests.waiting import eventually

__all__ = ["Traffic", "ca_bundle", "no_call_fails"]

_DENIAL = "Pod must have custom label"
_CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/custom-scheduler"
_DENYING = "deny.pods.custom-scheduler.io"


def ca_bundle(cluster: DevCluster, entry: str = _DENYING) -> str:
    """Return the caBundle of an entry of the validating configuration as PEM; empty where it has none."""
    (client,) = [
        each["clientConfig"]
        for each in cluster.request("GET", _CONFIGURATION)["webhooks"]
        if each["name"] == entry
    ]
    return base64.b64decode(client.get("caBundle", "")).decode()


class _Repeated:
    """Does something in threads of its own, so many times a second, and counts what failed."""

    def __init__(self, action: Callable[[], str], *, rate: float, threads: int) -> None:
        self._action = action
        self._period = threads / rate
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.calls = 0
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stopping.wait(max(0, due - time.monotonic())):
            due += self._period
            failure = self._action()
            with self._lock:
                self.calls += 1
                if failure:
                    self.failures.append(failure)


class Traffic(_Repeated):
    """Dry runs of pods without the label in a namespace, at a rate, each answered by a call of the webhook."""

    def __init__(
        self,
        cluster: DevCluster,
        namespace: str,
        *,
        answer: Literal["denied", "admitted"] = "denied",
        rate: float = 100,
        threads: int = 4,
    ) -> None:
        body = json.loads(pod(namespace, "bare"))
        path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"

        def call() -> str:
            seen = "admitted"
            try:
                cluster.request("POST", path, body)
            except DevClusterError as error:
                seen = "denied" if _DENIAL in str(error) else str(error)
            return "" if seen == answer else seen

        super().__init__(call, rate=rate, threads=threads)


class _Handshakes(_Repeated):
    """New TLS connections to a port, each trusting the caBundle of `lag_seconds` ago alone, as a slow API server does.

    A real one keeps its connections, and so it seldom shakes hands.
    """

    def __init__(self, cluster: DevCluster, port: int, *, lag_seconds: float, rate: float = 20) -> None:
        known: deque[tuple[float, str]] = deque()

        def call() -> str:
            known.append((time.monotonic(), ca_bundle(cluster)))
            while len(known) > 1 and known[1][0] <= time.monotonic() - lag_seconds:
                known.popleft()
            context = ssl.create_default_context(cadata=known[0][1])
            try:
                with (
                    socket.create_connection(("127.0.0.1", port), timeout=5) as raw,
                    context.wrap_socket(raw, server_hostname="localhost"),
                ):
                    return ""
            except OSError as error:
                return str(error)

        super().__init__(call, rate=rate, threads=1)


@contextmanager
def no_call_fails(cluster: DevCluster, namespace: str, port: int, *, lag_seconds: float) -> Iterator[None]:
    """Call all through the block and a while after, and fail if a call did.

    The calls come through the API server, for an enforced `namespace`, and to `port` as from an API server that lags.
    """
    with (
        closing(Traffic(cluster, namespace)) as traffic,
        closing(_Handshakes(cluster, port, lag_seconds=lag_seconds)) as handshakes,
    ):
        eventually(lambda: traffic.calls > 50 and handshakes.calls > 10, "calls are made")
        yield
        done = traffic.calls, handshakes.calls
        eventually(lambda: traffic.calls > done[0] + 100 and handshakes.calls > done[1] + 40, "and go on")
    assert (traffic.failures, handshakes.failures) == ([], [])
