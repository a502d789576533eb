"""One leader among replicas, through a Lease: at most one at any moment, whatever the clocks say."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.errors import ApiError, ClusterError
from webhook.kube.clock import boot_time
from webhook.kube.meta import micro_time
from webhook.kube.transport import KubeClient

__all__ = ["Elector", "LeaseTiming"]

log = logging.getLogger("custom_scheduler.kube")

_CONFLICT, _NOT_FOUND = 409, 404


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseTiming:
    """Seconds, with kube-scheduler's defaults: others wait `lease`, the holder gives up after `renew` of it."""

    lease: int = 15
    renew: float = 10.0
    retry: float = 2.0
    request: float = 5.0


class Elector:
    """Takes part in the election for one Lease from `run` until `stop`, and then gives the Lease back.

    A holder leads until `renew` seconds after it *asked* for its last renewal that succeeded. The others take over
    when they have not seen the record change for `lease` seconds of their own clock; the times in the record are
    for people. `identity` must be this process's alone. The callbacks run in the thread of `run` and must be
    short: `on_started` when this replica has become the leader, with True if the one before did not give the Lease
    back and may still have requests under way; `on_stopped` when this replica has ceased to be the leader.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        on_started: Callable[[bool], None],
        on_stopped: Callable[[], None],
        timing: LeaseTiming | None = None,
        clock: Callable[[], float] = boot_time,
        wall_clock: Callable[[], float] = time.time,
        rng: Callable[[], float] = random.random,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.fault: str | None = None
        self._releasing_client = client
        self._client = client.apart()
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._timing = timing or LeaseTiming()
        self._clock = clock
        self._wall_clock = wall_clock
        self._rng = rng
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._lease: dict[str, Any] = {}  # as last seen or written; raw, so that fields of newer APIs survive
        self._changed_at = 0.0
        self._leads_until = float("-inf")
        self._announced = False
        self._taken = False  # from a holder that did not give it back

    def is_leader(self) -> bool:
        """Tell whether this replica may act now; ask right before each act, from any thread."""
        return self._clock() < self._leads_until

    def run(self) -> None:
        """Seek and hold the leadership until `stop`."""
        while not self._stop.is_set():
            try:
                self._attempt()
                self._recovered()
            except ClusterError as error:
                if not self._stop.is_set():
                    self._failed(error)
            except Exception:
                # A fault of ours: without this thread, the Lease would be lost and nobody would be told.
                log.exception("Lease %s/%s: unexpected failure, trying on", self._namespace, self._name)
            self._announce(self.is_leader())
            # Seekers spread out; the holder keeps its pace.
            self._wait(self._timing.retry * (1 if self._announced else 1 + self._rng()))
        held = self.is_leader()
        self._leads_until = float("-inf")
        self._announce(leading=False)
        if held:
            self._release()

    def stop(self) -> None:
        """Make `run` give the Lease back and return; from any thread."""
        self._stop.set()
        self._client.close()

    def _attempt(self) -> None:
        """Renew the Lease or take it, if it is ours or free."""
        asked = self._clock()
        if self.is_leader() and self._write(self._lease, asked):
            return
        try:
            raw = self._client.request("GET", f"{self._path}/{self._name}", timeout=self._timing.request)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            self._write({}, asked)
            return
        self._see(msgspec.json.decode(raw))
        if self._is_free():
            self._write(self._lease, asked)

    def _see(self, lease: dict[str, Any]) -> None:
        if lease.get("spec") != self._lease.get("spec") or not self._lease:
            self._changed_at = self._clock()
        self._lease = lease

    def _is_free(self) -> bool:
        spec = self._lease.get("spec") or {}
        holder = spec.get("holderIdentity")
        if holder in (None, "", self._identity):
            return True
        self._leads_until = float("-inf")
        duration = float(spec.get("leaseDurationSeconds") or self._timing.lease)
        return self._clock() >= self._changed_at + duration

    def _write(self, lease: dict[str, Any], asked: float) -> bool:
        """Write ourselves into the Lease; False if somebody else wrote it first."""
        spec = lease.get("spec") or {}
        ours = spec.get("holderIdentity") == self._identity
        now = micro_time(self._wall_clock())
        written = self._put(
            lease,
            {
                **spec,
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self._timing.lease,
                "acquireTime": spec["acquireTime"] if ours and spec.get("acquireTime") else now,
                "renewTime": now,
                "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (0 if ours or not lease else 1),
            },
            self._client,
        )
        if written:
            self._taken = not ours and bool(spec.get("holderIdentity"))
            self._leads_until = asked + self._timing.renew
        return written

    def _put(self, lease: dict[str, Any], spec: dict[str, Any], client: KubeClient) -> bool:
        if lease:
            method, path, body = "PUT", f"{self._path}/{self._name}", {**lease, "spec": spec}
        else:
            metadata = {"name": self._name, "namespace": self._namespace}
            kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            method, path, body = "POST", self._path, {**kind, "metadata": metadata, "spec": spec}
        try:
            raw = client.request(method, path, body=msgspec.json.encode(body), timeout=self._timing.request)
        except ApiError as error:
            if error.status == _NOT_FOUND and not lease:
                raise ClusterError(
                    f"namespace {self._namespace} is not there; create it, or give --namespace"
                ) from error
            if error.status in (_CONFLICT, _NOT_FOUND):
                return False
            raise
        self._see(msgspec.json.decode(raw))
        return True

    def _release(self) -> None:
        """Let the next leader begin at once; without an answer it begins when the Lease runs out."""
        now = micro_time(self._wall_clock())
        free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now}
        client = self._releasing_client
        try:
            if not self._put(self._lease, {**self._lease["spec"], **free}, client):
                # A renewal whose answer we did not wait for may have been carried out.
                self._see(msgspec.json.decode(client.request("GET", f"{self._path}/{self._name}")))
                if self._lease["spec"].get("holderIdentity") == self._identity:
                    self._put(self._lease, {**self._lease["spec"], **free}, client)
        except ClusterError as error:
            log.info("Lease %s/%s not given back: %s", self._namespace, self._name, error)

    def _announce(self, leading: bool) -> None:  # noqa: FBT001 (the new state, not an option)
        if leading == self._announced:
            return
        self._announced = leading
        log.info(
            "%s %s the Lease %s/%s",
            self._identity,
            "holds" if leading else "no longer holds",
            self._namespace,
            self._name,
        )
        if leading:
            self._on_started(self._taken)
        else:
            self._on_stopped()

    def _failed(self, error: ClusterError) -> None:
        before, self.fault = self.fault, f"Lease {self._namespace}/{self._name} can't be held: {error}"
        if before is None:
            log.warning("%s", self.fault)

    def _recovered(self) -> None:
        if self.fault is not None:
            log.info("Lease %s/%s is within reach again", self._namespace, self._name)
        self.fault = None
