"""The life of one pod on its node: volumes, container, probes, restarts, and the graceful end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from devcluster.errors import DevClusterError, PodError, RequestError
from devcluster.kubelet.container import Container, only_container, plan_of
from devcluster.kubelet.image import Image
from devcluster.kubelet.network import Network, Place
from devcluster.kubelet.objects import Object, Source
from devcluster.kubelet.probes import Probe, http_check
from devcluster.kubelet.status import PodState, moment, running, status_of, terminated, waiting
from devcluster.kubelet.volumes import Configs, Volumes

__all__ = ["Node", "PodWorker"]

log = logging.getLogger("devcluster.kubelet")

_RETRY_SECONDS = 1.0
_FIRST_BACK_OFF_SECONDS = 1.0  # a real kubelet's is 10
_LONGEST_BACK_OFF_SECONDS = 60.0
# k8s.io/kubernetes pkg/kubelet/kuberuntime: what a container gets after a preStop that took all of the grace period
_LEAST_GRACE_SECONDS = 2.0


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of this machine share."""

    source: Source
    image: Image
    network: Network
    configs: Configs
    folder: Path
    """Below it, each pod has a folder of its own."""
    logs: Path
    """Where the output of containers goes."""
    api_server: tuple[str, int]


class PodWorker:
    """Runs a pod on a thread of its own, from `start` on, until the pod is to end; then `has_ended`."""

    def __init__(self, pod: Object, node: Node) -> None:
        self._pod = pod
        self._node = node
        metadata = pod["metadata"]
        self._name = metadata["name"]
        self._path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{self._name}"
        self._folder = node.folder / metadata["uid"]
        self._volumes = Volumes(self._folder / "volumes", node.configs)
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._is_gone = False
        self._is_unhealthy = False
        self._pre_stop_seconds = 0.0
        self._running: Container | None = None
        self._thread = threading.Thread(target=self._run, name=f"pod {self._name}", daemon=True)
        self._state = PodState(address="", started_at=moment(), container=waiting("ContainerCreating"))

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the pod runs any more."""
        return not self._thread.is_alive()

    def update(self, pod: Object | None) -> None:
        """Take the pod as it is in the API now; None where it is gone, and what runs of it is to be killed."""
        if pod is None:
            self._is_gone = True
        else:
            self._pod = pod
        self._wake.set()

    def wake(self) -> None:
        """Look at the volumes again."""
        self._wake.set()

    def terminate(self) -> None:
        """Send SIGTERM to the container, if one runs, as `kill 1` in it does: nobody decided that the pod is to end."""
        if (container := self._running) is not None:
            container.terminate()

    @property
    def _is_ending(self) -> bool:
        return self._is_gone or "deletionTimestamp" in self._pod["metadata"]

    def _run(self) -> None:
        try:
            with self._node.network.place() as place:
                self._report(address=place.address)
                self._live(place)
            self._take_leave()
        except Exception:
            log.exception("pod %s is given up", self._name)

    def _live(self, place: Place) -> None:
        back_off = _FIRST_BACK_OFF_SECONDS
        while not self._is_ending:
            try:
                self._volumes.write(self._pod)
                with self._container(place) as container:
                    self._attend(container)
                    self._stop(container)
            except PodError as error:
                self._report(container=waiting("CreateContainerConfigError", str(error)))
                self._wait(lambda: self._is_ending, _RETRY_SECONDS)
                continue
            ended = terminated(container.exit_code, moment())
            log.info("pod %s: its container ended with %s", self._name, container.exit_code)
            if self._is_ending:
                self._report(container=ended, ready=False)
                return
            again = waiting("CrashLoopBackOff")
            self._report(
                container=again, last_container=ended, ready=False, restarts=self._state.restarts + 1
            )
            self._wait(lambda: self._is_ending, back_off)
            back_off = min(back_off * 2, _LONGEST_BACK_OFF_SECONDS)

    @contextmanager
    def _container(self, place: Place) -> Iterator[Container]:
        """Run the container with its probes; neither is left when this ends."""
        pod = {**self._pod, "status": {**self._pod.get("status", {}), "podIP": place.address}}
        root = self._folder / "root"
        root.mkdir(parents=True, exist_ok=True)
        plan = plan_of(
            pod,
            image=self._node.image,
            volumes=self._volumes,
            place=place,
            root=root,
            api_server=self._node.api_server,
        )
        probes = self._probes(place)
        self._pre_stop_seconds = _pre_stop_seconds(only_container(pod))
        self._is_unhealthy = False
        container = Container(plan, log=self._node.logs / f"{self._name}.log", on_end=self._wake.set)
        try:
            self._report(
                phase="Running",
                container=running(moment()),
                ready="readinessProbe" not in only_container(pod),
            )
            for probe in probes:
                probe.start()
            self._running = container
            yield container
        finally:
            self._running = None
            container.kill()
            container.join()
            for probe in probes:
                probe.stop()

    def _probes(self, place: Place) -> list[Probe]:
        container = only_container(self._pod)
        if "startupProbe" in container:
            raise PodError("the process kubelet has no startupProbe")
        reactions: dict[str, Callable[[bool], None]] = {
            "readinessProbe": self._on_readiness,
            "livenessProbe": self._on_liveness,
        }
        return [
            Probe(container[kind], http_check(container[kind], container, place.address), react)
            for kind, react in reactions.items()
            if kind in container
        ]

    def _on_readiness(self, is_ready: bool) -> None:  # noqa: FBT001 (a probe's verdict)
        self._report(ready=is_ready)

    def _on_liveness(self, is_alive: bool) -> None:  # noqa: FBT001 (a probe's verdict)
        if not is_alive:
            self._is_unhealthy = True
            self._wake.set()

    def _attend(self, container: Container) -> None:
        """Keep the volumes up to date until the container has ended or is to end."""
        while not (container.has_ended or self._is_ending or self._is_unhealthy):
            self._wake.wait()
            self._wake.clear()
            try:
                self._volumes.write(self._pod)
            except PodError as error:  # the container goes on with what it has
                log.warning("pod %s: %s", self._name, error)

    def _stop(self, container: Container) -> None:
        """End the container within its grace period: the preStop hook first, then SIGTERM, then SIGKILL."""
        spec = self._pod["spec"]
        grace = self._pod["metadata"].get("deletionGracePeriodSeconds", spec["terminationGracePeriodSeconds"])
        begun = time.monotonic()

        def is_over() -> bool:
            return container.has_ended or self._is_gone

        self._wait(is_over, min(self._pre_stop_seconds, grace))
        if not is_over():
            container.terminate()
        self._wait(is_over, max(begun + grace - time.monotonic(), _LEAST_GRACE_SECONDS))
        # Leaving the container's context kills what is left.

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition() and (remaining := deadline - time.monotonic()) > 0:
            self._wake.wait(remaining)
            self._wake.clear()

    def _report(self, **changes: Any) -> None:
        """Tell the API server what changed; the pod may be gone, and that is no fault."""
        with self._lock:
            state = msgspec.structs.replace(self._state, **changes)
            if state == self._state or self._is_gone:
                return
            status = status_of(self._pod, state, now=moment())
            uid = self._pod["metadata"]["uid"]
            try:
                self._node.source.request(
                    "PATCH", f"{self._path}/status", {"metadata": {"uid": uid}, "status": status}
                )
            except RequestError as error:
                if error.status not in (404, 409):  # gone, or another pod of this name
                    log.warning("pod %s: %s", self._name, error)
            except DevClusterError as error:  # told with the next change
                log.warning("pod %s: %s", self._name, error)
            self._state = state
            log.info("pod %s: %s", self._name, changes)

    def _take_leave(self) -> None:
        """Tell that nothing of the pod runs any more, on which the API server lets it go."""
        try:
            code = self._state.container.get("terminated", {}).get("exitCode", 0)
            self._report(phase="Failed" if code else "Succeeded")
            if not self._is_gone:
                body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._pod["metadata"]["uid"]}}
                self._node.source.request("DELETE", self._path, body)
        except DevClusterError as error:
            log.warning("pod %s: %s", self._name, error)


def _pre_stop_seconds(container: Any) -> float:
    hook = container.get("lifecycle", {}).get("preStop")
    if hook is None:
        return 0.0
    if "sleep" not in hook:
        raise PodError("the process kubelet has no preStop hook but sleep")
    return float(hook["sleep"]["seconds"])
