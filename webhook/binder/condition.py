"""The condition PodScheduled of pods that found no node, written from a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.errors import ApiError, ClusterError
from webhook.kube.backoff import Backoff
from webhook.kube.transport import KubeClient, ThrottledError
from webhook.scheduling.objects import Pod, PodCondition

__all__ = ["ConditionWriter", "NotScheduled"]

log = logging.getLogger("custom_scheduler.binder")

POD_SCHEDULED = "PodScheduled"


@dataclass(frozen=True, kw_only=True, slots=True)
class NotScheduled:
    """Why a pod has no node: `reason` in a word, `message` for people; and where it may fit later."""

    reason: str
    message: str
    nominated_node: str = ""

    def is_told_by(self, pod: Pod) -> bool:
        """Tell whether the pod's status says just this already."""
        condition = _condition(pod)
        return (
            condition is not None
            and condition.status == "False"
            and condition.reason == self.reason
            and condition.message == self.message
            and condition.observed_generation == pod.metadata.generation
            and pod.status.nominated_node_name == self.nominated_node
        )


class ConditionWriter:
    """Patches the status of pods, each with the latest that is known of it; never blocks or fails its caller.

    What can't be written because the API server is away is tried again; what is refused is left out.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        wall_clock: Callable[[], float] = time.time,
        backoff: Backoff | None = None,
    ) -> None:
        self._client = client.apart()
        self._wall_clock = wall_clock
        self._backoff = backoff or Backoff()
        self._waiting: dict[str, tuple[Pod, NotScheduled]] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._refused = 0  # the status of the refusal told last
        self._thread = threading.Thread(target=self._run, name="conditions", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def write(self, pod: Pod, outcome: NotScheduled) -> None:
        """Have the condition written soon, unless the pod has it already."""
        with self._changed:
            if outcome.is_told_by(pod):
                self._waiting.pop(pod.metadata.uid, None)
                return
            self._waiting[pod.metadata.uid] = (pod, outcome)
            self._changed.notify()

    def drop(self, uid: str) -> None:
        """Leave out what waits to be written on a pod that has a node now, or is gone."""
        with self._changed:
            self._waiting.pop(uid, None)

    def close(self) -> None:
        """End the thread; what has not been written is for the next leader to find out."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._client.close()
        self._thread.join()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            pod, outcome = item
            try:
                self._patch(pod, outcome)
            except ClusterError as error:
                self._handle(pod, outcome, error)
            except Exception:
                # A text that JSON can't hold, for instance: this thread has all other pods to tell.
                log.exception("the condition of pod %s can't be written", pod.key)
            else:
                self._backoff.reset()
                self._refused = 0

    def _next(self) -> tuple[Pod, NotScheduled] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if self._closing:
                return None
            return self._waiting.pop(next(iter(self._waiting)))

    def _patch(self, pod: Pod, outcome: NotScheduled) -> None:
        meta = pod.metadata
        self._client.request(
            "PATCH",
            f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}/status",
            body=msgspec.json.encode(self._body(pod, outcome)),
            content_type="application/strategic-merge-patch+json",
        )

    def _body(self, pod: Pod, outcome: NotScheduled) -> dict[str, Any]:
        """Return the patch. Conditions merge by type, and a uid that isn't the pod's is a conflict."""
        condition: dict[str, Any] = {
            "type": POD_SCHEDULED,
            "status": "False",
            "reason": outcome.reason,
            "message": outcome.message,
            "observedGeneration": pod.metadata.generation,
        }
        known = _condition(pod)
        if known is None or known.status != "False":
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._wall_clock()))
            condition["lastTransitionTime"] = now
        status: dict[str, Any] = {"conditions": [condition]}
        if outcome.nominated_node or pod.status.nominated_node_name:
            status["nominatedNodeName"] = outcome.nominated_node or None
        return {"metadata": {"uid": pod.metadata.uid}, "status": status}

    def _handle(self, pod: Pod, outcome: NotScheduled, error: ClusterError) -> None:
        if isinstance(error, ApiError) and not isinstance(error, ThrottledError) and error.status < 500:
            gone = error.status in (404, 409)
            if not gone and error.status != self._refused:
                self._refused = error.status
                log.warning("the condition of pod %s can't be written: %s", pod.key, error)
            return
        with self._changed:
            self._waiting.setdefault(pod.metadata.uid, (pod, outcome))
            self._changed.wait_for(lambda: self._closing, self._backoff.after(error))


def _condition(pod: Pod) -> PodCondition | None:
    return next((each for each in pod.status.conditions if each.type == POD_SCHEDULED), None)
