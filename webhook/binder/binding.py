"""Writing placements to the API server, from a few threads, and judging what it answers."""

from __future__ import annotations

import enum
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

import msgspec

from webhook.binder.queued_pod import QueuedPod
from webhook.errors import ApiError, Unreachable
from webhook.kube.backoff import Backoff
from webhook.kube.transport import REQUEST_SECONDS, KubeClient, ThrottledError
from webhook.scheduling.containment import described
from webhook.scheduling.framework import Framework
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status

__all__ = ["BIND_SECONDS", "BindPool", "BindResult", "Binding", "Outcome"]

log = logging.getLogger("custom_scheduler.binder")

BIND_SECONDS = REQUEST_SECONDS
THREADS = 16

_GONE = ("UID in precondition", "is being deleted")
_ASSIGNED = re.compile(r'is already assigned to node "([^"]*)"')


class Outcome(enum.Enum):
    """What became of a binding."""

    BOUND = enum.auto()
    GONE = enum.auto()  # the pod was deleted, or another one has its name
    TAKEN = enum.auto()  # somebody else gave the pod another node
    REFUSED = enum.auto()  # by a plugin or the API server
    ABANDONED = enum.auto()  # not tried, or given up without knowing


@dataclass(slots=True, eq=False)
class Binding:
    """A pod on its way to a node. The scheduling thread sets `cancelled` when pod or node have gone."""

    queued: QueuedPod
    pod: Pod
    node_name: str
    node_uid: str
    framework: Framework
    started_at: float
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class BindResult:
    """How a binding ended; `status` says why it did not come to its end, `afterwards` what plugins made of its end."""

    binding: Binding
    outcome: Outcome
    status: Status = SUCCESS
    afterwards: tuple[Status, ...] = ()


class BindPool:
    """Threads that bind. Each binding submitted is reported once, from one of them.

    Right before each request, `may_bind` has to agree (leadership) and the binding must not be cancelled: the API
    server would bind to a node that is gone. A request without an answer is sent again until there is one: the
    pod's uid in it and the answer "already assigned" make that safe.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        report: Callable[[BindResult], None],
        may_bind: Callable[[], bool],
        threads: int = THREADS,
        backoff: Callable[[], Backoff] = lambda: Backoff(first=0.1, longest=2.0),
    ) -> None:
        self._client = client.apart()
        self._report = report
        self._may_bind = may_bind
        self._backoff = backoff
        self._work: SimpleQueue[Binding | None] = SimpleQueue()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"bind-{number}", daemon=True)
            for number in range(threads)
        ]

    @property
    def threads(self) -> Sequence[threading.Thread]:
        """All of them, each of which must be alive from `start` to `close`."""
        return self._threads

    def start(self) -> None:
        """Begin to bind."""
        for thread in self._threads:
            thread.start()

    def submit(self, binding: Binding) -> None:
        """Have a pod bound soon."""
        self._work.put(binding)

    def close(self, timeout: float) -> None:
        """Let requests under way end, for at most `timeout` seconds, and abandon what has not begun."""
        self._stop.set()
        for _ in self._threads:
            self._work.put(None)
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._client.close()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (binding := self._work.get()) is not None:
            try:
                result = self._bind(binding)
            except BaseException as error:
                # Whatever it is: nobody else would take what waits for this thread.
                log.exception("binding %s failed unexpectedly", binding.pod.key)
                status = Status(Code.ERROR, (described(error),))
                result = BindResult(binding, Outcome.REFUSED, status)
            self._report(result)

    def _bind(self, binding: Binding) -> BindResult:
        pod, node_name, framework = binding.pod, binding.node_name, binding.framework
        if not self._may_go_on(binding):
            return BindResult(binding, Outcome.ABANDONED)
        status = framework.pre_bind(pod, node_name)
        if not status.is_success:
            return BindResult(binding, Outcome.REFUSED, status)
        if not self._may_go_on(binding):
            return BindResult(binding, Outcome.ABANDONED)
        with framework.measurements.span("Bind") as span:
            status = framework.bind(pod, node_name)
            if status.code is Code.SKIP:
                result = self._post(binding)
            elif status.is_success:
                result = BindResult(binding, Outcome.BOUND)
            else:
                result = BindResult(binding, Outcome.REFUSED, status)
            span.code = Code.SUCCESS if result.outcome is Outcome.BOUND else Code.ERROR
        if result.outcome is Outcome.BOUND:
            result = replace(result, afterwards=framework.post_bind(pod, node_name))
        return result

    def _post(self, binding: Binding) -> BindResult:
        meta = binding.pod.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}/binding"
        body = msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Binding",
                # The uid: a pod that was made anew under this name is another pod.
                "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node_name},
            }
        )
        backoff = self._backoff()
        while self._may_go_on(binding):
            try:
                self._client.request("POST", path, body=body, timeout=BIND_SECONDS)
            except (ThrottledError, Unreachable) as error:
                self._stop.wait(backoff.after(error))
            except ApiError as error:
                return _judge(binding, error)
            else:
                return BindResult(binding, Outcome.BOUND)
        return BindResult(binding, Outcome.ABANDONED)

    def _may_go_on(self, binding: Binding) -> bool:
        return not self._stop.is_set() and not binding.cancelled and self._may_bind()


def _judge(binding: Binding, error: ApiError) -> BindResult:
    """Read an answer of pods/binding; its texts are in pkg/registry/core/pod/storage/storage.go."""
    text = str(error)
    assigned = _ASSIGNED.search(text) if error.status == 409 else None
    if assigned is not None and assigned[1] == binding.node_name:
        # An earlier request was carried out, and its answer got lost.
        return BindResult(binding, Outcome.BOUND)
    if assigned is not None:
        outcome = Outcome.TAKEN
    elif error.status == 404 or (error.status == 409 and any(sign in text for sign in _GONE)):
        outcome = Outcome.GONE
    else:
        outcome = Outcome.REFUSED
    return BindResult(binding, outcome, Status(Code.ERROR, (f"binding rejected: {text}",)))
