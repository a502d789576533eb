"""Probes over HTTP: when they are made, and from how many answers a judgement follows."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Mapping
from typing import Any

from devcluster.errors import PodError

__all__ = ["Judgement", "Probe", "http_check"]

# k8s.io/kubernetes pkg/apis/core/v1/defaults.go, SetDefaults_Probe
_PERIOD_SECONDS = 10
_TIMEOUT_SECONDS = 1
_SUCCESSES = 1
_FAILURES = 3


class Judgement:
    """Turns single answers into a verdict, as the thresholds of a probe say. Pure."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._successes = spec.get("successThreshold") or _SUCCESSES
        self._failures = spec.get("failureThreshold") or _FAILURES
        self._last: bool | None = None
        self._in_a_row = 0

    def saw(self, success: bool) -> bool | None:  # noqa: FBT001 (one answer is all there is)
        """Take one answer; return the verdict, or None while there is none yet."""
        self._in_a_row = self._in_a_row + 1 if success is self._last else 1
        self._last = success
        return success if self._in_a_row >= (self._successes if success else self._failures) else None


class Probe:
    """Probes from `start` on until `stop`, on a thread of its own, which calls `on_verdict` with each verdict."""

    def __init__(
        self, spec: Mapping[str, Any], check: Callable[[], bool], on_verdict: Callable[[bool], None]
    ) -> None:
        self._check = check
        self._on_verdict = on_verdict
        self._judgement = Judgement(spec)
        self._delay = spec.get("initialDelaySeconds") or 0
        self._period = spec.get("periodSeconds") or _PERIOD_SECONDS
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probe")

    def start(self) -> None:
        """Begin to probe."""
        self._thread.start()

    def stop(self) -> None:
        """Give no more verdicts, and return when the probe under way is over."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._delay
        while not self._stopping.wait(pause):
            verdict = self._judgement.saw(self._check())
            if verdict is not None and not self._stopping.is_set():
                self._on_verdict(verdict)
            pause = self._period


def http_check(spec: Mapping[str, Any], container: Mapping[str, Any], address: str) -> Callable[[], bool]:
    """Return what makes one probe of a container at `address`; raises PodError for another kind than httpGet."""
    get = spec.get("httpGet")
    if get is None or get.get("scheme", "HTTP") != "HTTP":
        raise PodError("a probe: the process kubelet has only httpGet, over plain HTTP")
    port = _port(get["port"], container)
    timeout = spec.get("timeoutSeconds") or _TIMEOUT_SECONDS

    def check() -> bool:
        connection = http.client.HTTPConnection(address, port, timeout=timeout)
        try:
            connection.request("GET", get.get("path", "/"), headers={"Connection": "close"})
            # k8s.io/kubernetes pkg/probe/http: a redirect is a success too
            return 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return check


def _port(port: int | str, container: Mapping[str, Any]) -> int:
    if isinstance(port, int):
        return port
    for each in container.get("ports", []):
        if each.get("name") == port:
            return int(each["containerPort"])
    raise PodError(f"a probe: the container has no port {port}")
