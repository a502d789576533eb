"""`DevCluster`: a real control plane for the length of a `with` block."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devcluster.api import ApiClient
from devcluster.binaries import find_assets, find_kubectl
from devcluster.build import say_on_stderr
from devcluster.errors import DevClusterError, StartError
from devcluster.guard import Guard
from devcluster.kubeconfig import token_user, write_kubeconfig
from devcluster.layout import Layout
from devcluster.nodes import Taint, node_manifest
from devcluster.protocol import Options, Start, StartApiserver, Started, StopApiserver

__all__ = ["DevCluster"]

_CONNECTIONS = 8
_TOKEN_SECONDS = 86_400


class DevCluster:
    """A throwaway Kubernetes control plane with `nodes` Node objects named node-1, node-2 and so on.

    Entering the `with` block builds the programs if need be, and returns when every component is ready. Leaving
    it, or the end of this process by whatever means, stops all of it and deletes its files. Instances don't collide.

    `apiserver_flags` come last on kube-apiserver's command line, and `controller_manager_flags` on
    kube-controller-manager's; `say` gets the progress of a build, line by line.
    Entering raises `BuildError` or `StartError`; leaving raises `StartError` if a component ended by itself.
    """

    def __init__(
        self,
        *,
        nodes: int = 0,
        scheduler: bool = True,
        controller_manager: bool = True,
        apiserver_flags: Sequence[str] = (),
        controller_manager_flags: Sequence[str] = (),
        say: Callable[[str], None] = say_on_stderr,
    ) -> None:
        self._nodes = nodes
        self._options = Options(
            scheduler=scheduler,
            controller_manager=controller_manager,
            apiserver_flags=tuple(apiserver_flags),
            controller_manager_flags=tuple(controller_manager_flags),
        )
        self._say = say
        self._state: _Running | None = None

    def __enter__(self) -> Self:
        assets = find_assets(_programs(self._options), self._say)
        guard = Guard()
        try:
            self._state = _Running.start(guard, assets, self._options)
            self.add_nodes(f"node-{number}" for number in range(1, self._nodes + 1))
        except BaseException:
            self._state = None
            guard.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._state = self._running, None
        running.api.close()
        failure = running.guard.close()
        if failure is not None and error is not None:
            error.add_note(f"devcluster: {failure}")
        elif failure is not None:
            raise StartError(failure)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of an administrator (group system:masters), by client certificate."""
        return self._running.layout.kubeconfig("admin")

    @property
    def url(self) -> str:
        """The API server's address, https://127.0.0.1:PORT."""
        return f"https://127.0.0.1:{self._running.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate, PEM, that verifies the API server's."""
        return self._running.layout.authority

    @property
    def logs(self) -> Path:
        """The folder with a log for each component, such as kube-apiserver.log."""
        return self._running.layout.logs

    def kubectl(
        self,
        *args: str | Path,
        input: str | None = None,  # noqa: A002 (as subprocess.run calls it)
        check: bool = True,
        timeout: float | None = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator, with no other configuration than this cluster's.

        `input` is its standard input; `timeout` is in seconds. With `check`, an exit code other than 0 raises
        `subprocess.CalledProcessError`, with what kubectl said as a note.
        """
        result = subprocess.run(
            [find_kubectl(), *args],
            input=input,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={
                "HOME": str(self._running.layout.home),
                "KUBECONFIG": str(self.kubeconfig),
                "PATH": os.environ.get("PATH", os.defpath),
            },
        )
        if check and result.returncode:
            error = subprocess.CalledProcessError(
                result.returncode, result.args, result.stdout, result.stderr
            )
            error.add_note(result.stderr.strip())
            raise error
        return result

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        """Send `body` as JSON to `path` of the API server as the administrator; return the decoded answer.

        A PATCH is a merge patch. Raises `RequestError` for a status of 400 or more.
        """
        return self._running.api.request(method, path, body, timeout=timeout)

    def client(self, *, connections: int) -> ApiClient:
        """Return the administrator's client with connections of its own; to be closed by the caller."""
        running = self._running
        return _client(running.layout, running.port, connections)

    def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Taint] = (),
        capacity: Mapping[str, str] | None = None,
    ) -> None:
        """Create a Node that is Ready.

        `labels` come beside those that a kubelet sets; `capacity`, such as `{"cpu": "8"}`, changes single entries of
        4 cpu, 32Gi memory, 110 pods, 100Gi ephemeral-storage. Raises `RequestError`.
        """
        self.add_nodes([name], labels=labels, taints=taints, capacity=capacity)

    def add_nodes(
        self,
        names: Iterable[str],
        *,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Taint] = (),
        capacity: Mapping[str, str] | None = None,
    ) -> None:
        """Create many Nodes that are alike but for their names, in parallel; see `add_node`."""

        def create(name: str) -> None:
            manifest = node_manifest(name, labels=labels, taints=taints, capacity=capacity)
            self.request("POST", "/api/v1/nodes", manifest)

        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            for _ in pool.map(create, names):
                pass  # so that the first fault is raised

    def add_namespace(self, name: str, *, labels: Mapping[str, str] | None = None) -> None:
        """Create a Namespace, and return when pods can be created in it. Raises `RequestError`."""
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels or {})}})
        if self._options.controller_manager:
            self.wait_for_account(name)

    def wait_for_account(self, namespace: str) -> None:
        """Return when a namespace has the ServiceAccount that each of its pods needs."""
        self.kubectl("wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=20s")

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig with a token of an existing ServiceAccount, valid for a day: it can do what RBAC says.

        Raises `RequestError` if there is no such account.
        """
        running = self._running
        answer = self.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": _TOKEN_SECONDS},
            },
        )
        return write_kubeconfig(
            running.layout.kubeconfig(f"{namespace}.{name}"),
            url=self.url,
            authority=self.ca_file.read_bytes(),
            name=f"system:serviceaccount:{namespace}:{name}",
            user=token_user(answer["status"]["token"]),
        )

    def stop_apiserver(self) -> None:
        """Stop kube-apiserver alone: connections to it are refused until `start_apiserver`."""
        self._running.guard.call(StopApiserver())

    def start_apiserver(self) -> None:
        """Start kube-apiserver again, on the same port with the same data; returns when it is ready."""
        self._running.guard.call(StartApiserver())

    def wait(self) -> None:
        """Return never; raises `StartError` when a component ends by itself."""
        self._running.guard.wait()

    @property
    def _running(self) -> _Running:
        if self._state is None:
            raise DevClusterError("the cluster is not running: use it inside its with block")
        return self._state


@dataclass(frozen=True, kw_only=True)
class _Running:
    guard: Guard
    layout: Layout
    port: int
    api: ApiClient

    @classmethod
    def start(cls, guard: Guard, assets: Path, options: Options) -> _Running:
        started = guard.call(Start(assets=str(assets), options=options))
        assert isinstance(started, Started)
        layout = Layout(Path(started.folder))
        api = _client(layout, started.port, _CONNECTIONS)
        return cls(guard=guard, layout=layout, port=started.port, api=api)


def _client(layout: Layout, port: int, connections: int) -> ApiClient:
    return ApiClient(port, authority=layout.authority, credentials=layout.admin, connections=connections)


def _programs(options: Options) -> list[str]:
    optional = {"kube-controller-manager": options.controller_manager, "kube-scheduler": options.scheduler}
    return ["etcd", "kube-apiserver", *(name for name, wanted in optional.items() if wanted)]
