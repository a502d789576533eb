"""Starts the components in order, waits until each says that it is ready, and stops them in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from devcluster.api import ApiClient
from devcluster.components import (
    apiserver_command,
    controller_manager_command,
    etcd_command,
    scheduler_command,
)
from devcluster.errors import DevClusterError, StartError
from devcluster.layout import Layout
from devcluster.ports import ReservedPort
from devcluster.processes import Process, end_all, last_relevant_line
from devcluster.protocol import Options

__all__ = ["ControlPlane", "Watch"]

_START_SECONDS = 120.0  # a loaded CI machine with one core; an idle one takes four
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.05


class Watch(Protocol):
    """Waits on behalf of the control plane, so that no wait outlives its reason."""

    def add(self, process: Process) -> None:
        """Take the end of `process` for a fault from now on."""

    def discard(self, process: Process) -> None:
        """Take the end of `process` as expected from now on."""

    def pause(self, seconds: float) -> None:
        """Wait; raises as soon as the cluster isn't wanted any more or a watched process ends."""


@dataclass(frozen=True, kw_only=True)
class _Server:
    """A running component that answers HTTPS on `port`, and `path` there when it is ready."""

    process: Process
    port: int
    path: str


class ControlPlane:
    """The four components of one cluster, in `folder`, from the programs in `assets`."""

    def __init__(self, folder: Path, assets: Path, options: Options, watch: Watch) -> None:
        self.layout = Layout(folder)
        self._assets = assets
        self._options = options
        self._watch = watch
        self._ports: list[ReservedPort] = []
        self.port = self._reserve_port()
        """The API server's port on 127.0.0.1."""
        self._etcd: Process | None = None
        self._apiserver: Process | None = None
        self._controllers: list[_Server] = []

    def start(self) -> None:
        """Start everything and return when it is ready; raises `StartError`, and what the watch raises."""
        self.layout.prepare(f"https://127.0.0.1:{self.port}")
        self._etcd = self._run(etcd_command(self._assets))
        self.start_apiserver()
        if self._options.controller_manager:
            self._start_controller(controller_manager_command, "/healthz")
        if self._options.scheduler:
            self._start_controller(scheduler_command, "/readyz")
        for server in self._controllers:
            self._await(server.process, server.port, server.path)
            if server.process.name == "kube-controller-manager":
                # Its health comes before its work; without this account the API server refuses every pod.
                self._await(server.process, self.port, "/api/v1/namespaces/default/serviceaccounts/default")

    def start_apiserver(self) -> None:
        """Start kube-apiserver, unless it runs, and return when it is ready."""
        if self._apiserver is None:
            self._apiserver = self._run(
                apiserver_command(self._assets, self.layout, self._options, self.port)
            )
            self._await(self._apiserver, self.port, "/readyz")

    def stop_apiserver(self) -> None:
        """Stop kube-apiserver if it runs; its data and its port stay, and connections are refused."""
        if self._apiserver is not None:
            self._end([self._apiserver])
            self._apiserver = None

    def stop(self) -> None:
        """Stop what runs, those that need another component before that one, within a bounded time."""
        self._end([server.process for server in self._controllers])
        self._controllers.clear()
        self.stop_apiserver()  # before etcd: without etcd, kube-apiserver takes minutes to end
        if self._etcd is not None:
            self._end([self._etcd])
            self._etcd = None
        for port in self._ports:
            port.close()

    def _start_controller(
        self, command: Callable[[Path, Layout, Options, int], list[str]], path: str
    ) -> None:
        port = self._reserve_port()
        process = self._run(command(self._assets, self.layout, self._options, port))
        self._controllers.append(_Server(process=process, port=port, path=path))

    def _reserve_port(self) -> int:
        port = ReservedPort()
        self._ports.append(port)
        return port.number

    def _run(self, command: list[str]) -> Process:
        name = Path(command[0]).name
        process = Process(
            command,
            cwd=self.layout.folder,
            env={"HOME": str(self.layout.home)},  # no proxy, no ~/.kube, no switches meant for other programs
            log=self.layout.logs / f"{name}.log",
        )
        self._watch.add(process)
        return process

    def _end(self, processes: Sequence[Process]) -> None:
        for process in processes:
            self._watch.discard(process)
        end_all(processes, grace=_STOP_SECONDS)

    def _await(self, process: Process, port: int, path: str) -> None:
        """Return when a GET of `path` succeeds; `process` is who is blamed if that takes too long."""
        client = ApiClient(port, authority=self.layout.authority, credentials=self.layout.admin)
        deadline = time.monotonic() + _START_SECONDS
        try:
            while True:
                try:
                    client.request("GET", path, timeout=1)
                    return
                except DevClusterError as error:
                    if time.monotonic() > deadline:
                        line = last_relevant_line(process.log)
                        raise StartError(
                            f"{process.name} was not ready within {_START_SECONDS:.0f} s: {error}; its log: {line}"
                        ) from error
                self._watch.pause(_POLL_SECONDS)
        finally:
            client.close()
