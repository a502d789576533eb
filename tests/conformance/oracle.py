"""kube-scheduler as the oracle: it schedules for real, but its binder is an extender that only takes notes.

A binding is held until the scenario is over, so that each pod stays assumed where it was put, and the next ones see
it there. Where a pod goes is the extender's choice, by the pod's name, far above what the plugins say: runs of the
same scenario go the same way, and through states that good scores alone would never lead to.

The pod informer hands on events in order, so pods that are made first are known first, and when a pod is tried, all that
happened to pods before it was made is known. A probe is made for that alone. Which nodes are known the log tells, so
that no probe is needed while they come: each takes a snapshot, and one of some nodes leaves its mark on later ones.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devcluster import DevCluster
from tests.conformance.extender import Extender
from tests.conformance.furniture import NAMESPACES, furniture, path_of
from tests.conformance.model import Answer, Attempt, Json, Record, Scenario, World, key_of
from tests.conformance.notes import Note, Notes, OracleError, TriedAgain
from tests.conformance.profiles import PROBE, kube_scheduler_configuration
from tests.conformance.scheduler_process import SchedulerProcess

__all__ = ["Oracle", "OracleError"]

_CONNECTIONS = 8
_HOME = next(iter(NAMESPACES))
_PROBE_NAME = "probe-"
_PROBE_KEY = f"{_HOME}/{_PROBE_NAME}"
_TIMES = 3


class Oracle:
    """A control plane with a kube-scheduler that tells all and binds nothing.

    `asked_again` counts the scenarios that had to be gone through once more.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = DevCluster(scheduler=False, controller_manager=False)
        self._notes = Notes()
        self._extender = Extender(self._notes, _choose)
        self._pool = ThreadPoolExecutor(_CONNECTIONS)
        self._probes = itertools.count()
        self._objects: list[Json] = []
        self._ending = ExitStack()
        self.asked_again = 0

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            ending.enter_context(self._cluster)
            ending.callback(self._pool.shutdown)
            # In an order in which they can be made: the namespaces come first.
            self._objects = [self._make(obj) for obj in furniture()]
            url = self._extender.start()
            ending.callback(self._extender.close)
            configuration = kube_scheduler_configuration(self._cluster.kubeconfig, url)
            scheduler = SchedulerProcess(configuration, self._folder, self._notes)
            ending.callback(scheduler.stop)
            ending.callback(self._extender.release)
            self._ending = ending.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.__exit__(kind, error, trace)

    def record(self, scenario: Scenario) -> Record:
        """Return kube-scheduler's answers to the pods of a scenario; raises TriedAgain where that failed three times.

        "Added node" is logged before the event is queued that lets rejected pods be tried again, and a scheduler that is
        interrupted in between may try the first pod before and after it (addNodeToCache in eventhandlers.go).
        """
        for _ in range(_TIMES - 1):
            try:
                return self._record(scenario)
            except TriedAgain:
                self.asked_again += 1
        return self._record(scenario)

    def _record(self, scenario: Scenario) -> Record:
        self._clear()
        self._extender.hold()
        pods = self._all(self._make, scenario.placed)
        # Known before any node: which claims are in use on nodes that are gone depends on which snapshot comes first.
        self._probe()
        nodes = self._all(self._make, scenario.nodes)
        self._notes.until_nodes([node["metadata"]["name"] for node in nodes])
        # One by one: the order in which they are made is that in which they are scheduled.
        incoming = {key_of(pod): pod for pod in map(self._make, scenario.incoming)}
        self._probe()
        notes = self._notes.until_bound(incoming.keys())
        conditions = self._conditions()
        # Whatever happened before the conditions were read is noted by now.
        self._probe()
        self._notes.expect_once(incoming.keys(), besides=_PROBE_KEY)
        attempts = [
            Attempt(pod=incoming[key], answer=_answer(key, note, conditions.get(key, {})))
            for key, note in notes.items()
        ]
        gated = [key for key in incoming if key not in notes]
        attempts += [
            Attempt(pod=incoming[key], answer=_answer(key, Note(), conditions.get(key, {}))) for key in gated
        ]
        world = World(objects=self._objects, nodes=nodes, pods=pods)
        return Record(scenario=scenario, world=world, attempts=attempts)

    def _clear(self) -> None:
        """Delete all nodes and pods, and return when kube-scheduler has none of them left and nothing under way.

        An attempt to schedule a pod must not go on while the pod is deleted: kube-scheduler may then put it back into
        its queue, and try it in the middle of a later scenario. So the pods that wait go first, while nothing happens
        that lets it try them again. A binding must not fail later than here either: it lets pods be tried again too.
        """
        self._probe()
        pods = self._cluster.request("GET", "/api/v1/pods")["items"]
        unplaced = {key_of(pod) for pod in pods if not pod["spec"].get("nodeName")}
        noted = self._notes.until_bound({pod for pod in unplaced if not pod.startswith(_PROBE_KEY)})
        bound = {pod for pod, note in noted.items() if note.choice}
        collections = {namespace: f"/api/v1/namespaces/{namespace}/pods" for namespace in NAMESPACES}
        waiting = (pod.split("/") for pod in unplaced - bound)
        self._all(self._delete, [f"{collections[namespace]}/{name}" for namespace, name in waiting])
        self._all(self._delete, collections.values())
        self._probe()
        self._extender.release()
        self._notes.until_given_up(bound)
        self._delete("/api/v1/nodes")
        self._notes.until_nodes([])
        self._notes.clear()

    def _delete(self, path: str) -> Json:
        deleted: Json = self._cluster.request("DELETE", f"{path}?gracePeriodSeconds=0")
        return deleted

    def _probe(self) -> None:
        """Return when kube-scheduler is done with all that happened to pods before."""
        name = f"{_PROBE_NAME}{next(self._probes)}"
        pod = self._make(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": _HOME},
                "spec": {"schedulerName": PROBE, "containers": [{"name": "main", "image": "main"}]},
            }
        )
        self._notes.until_tried(key_of(pod))

    def _conditions(self) -> dict[str, Json]:
        """Return the PodScheduled condition of each pod that has one."""
        return {
            key_of(pod): condition
            for pod in self._cluster.request("GET", "/api/v1/pods")["items"]
            for condition in pod["status"].get("conditions", ())
            if condition["type"] == "PodScheduled"
        }

    def _all(self, act: Callable[[Any], Json], items: Iterable[Any]) -> list[Json]:
        return list(self._pool.map(act, items))

    def _make(self, manifest: Json) -> Json:
        """Create an object in the state that its manifest shows, and return it as the API server has it."""
        metadata = {
            name: value for name, value in manifest["metadata"].items() if name != "deletionTimestamp"
        }
        collection = path_of(manifest)
        made: Json = self._cluster.request("POST", collection, {**manifest, "metadata": metadata})
        path = f"{collection}/{metadata['name']}"
        if "status" in manifest and manifest["kind"] != "Node":
            made = self._cluster.request("PATCH", f"{path}/status", {"status": manifest["status"]})
        if "deletionTimestamp" in manifest["metadata"]:
            self._cluster.request("DELETE", path)
            made = self._cluster.request("GET", path)
        made["metadata"].pop("managedFields", None)
        return made


def _choose(pod: str, nodes: Iterable[str]) -> str:
    """Return the node that the pod goes to."""
    return random.Random(pod).choice(sorted(nodes))


def _answer(key: str, note: Note, condition: Json) -> Answer:
    if not note.feasible:
        return Answer(reason=condition.get("reason", ""), message=condition.get("message", ""))
    for node, total in note.totals.items():
        plugins = sum(by_node[node] for by_node in note.scores.values())
        if plugins + note.given.get(node, 0) != total:
            raise OracleError(f"{key} on {node}: the scores in the log don't add up to {total}")
    return Answer(feasible=note.feasible, choice=note.choice, scores=note.scores)
