"""The kubelet of all nodes: one worker for each pod that is bound to one."""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import urlsplit

from devcluster.cluster import DevCluster
from devcluster.kubelet.configs import ClusterConfigs
from devcluster.kubelet.image import Image
from devcluster.kubelet.network import Network
from devcluster.kubelet.objects import ObjectCache
from devcluster.kubelet.pod import Node, PodWorker
from devcluster.sandbox import SERVICE_ADDRESS

__all__ = ["Kubelet"]

_CONNECTIONS = 16


class Kubelet:
    """Runs whatever pod is bound to a node of `cluster`, from `start` on until the sandbox ends.

    Nodes are the cluster's own objects, which stay Ready. `folder` is for the pods' files, and `logs` for what their
    containers say. There is no stop: the sandbox takes all of it along.
    """

    def __init__(self, cluster: DevCluster, image: Image, *, folder: Path, logs: Path) -> None:
        client = cluster.client(connections=_CONNECTIONS)
        configs = ClusterConfigs(client, self._wake_all)
        port = urlsplit(cluster.url).port
        assert port is not None
        self._node = Node(
            source=client,
            image=image,
            network=Network(),
            configs=configs,
            folder=folder,
            logs=logs,
            api_server=(SERVICE_ADDRESS, port),
        )
        self._configs = configs
        self._pods = ObjectCache(client, "/api/v1/pods", self._reconcile)
        self._lock = threading.Lock()
        self._workers: dict[str, PodWorker] = {}

    def start(self) -> None:
        """Begin to run pods."""
        self._configs.start()
        self._pods.start()

    def terminate(self, uid: str) -> None:
        """Send SIGTERM to the container of a pod, as `kill 1` in it does."""
        with self._lock:
            self._workers[uid].terminate()

    def _wake_all(self) -> None:
        with self._lock:
            for worker in self._workers.values():
                worker.wake()

    def _reconcile(self) -> None:
        pods = {each["metadata"]["uid"]: each for each in self._pods.all()}
        with self._lock:
            for uid, worker in list(self._workers.items()):
                worker.update(pods.get(uid))
                if uid not in pods:
                    del self._workers[uid]
            for uid, pod in pods.items():
                if uid not in self._workers and "nodeName" in pod["spec"]:
                    self._workers[uid] = PodWorker(pod, self._node)
                    self._workers[uid].start()
