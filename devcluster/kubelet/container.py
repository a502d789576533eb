"""One container: what of its pod we can give it, as a plan, and the process that runs by that plan."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from devcluster.errors import PodError
from devcluster.kubelet import launcher
from devcluster.kubelet.environment import environment, expanded
from devcluster.kubelet.image import Image
from devcluster.kubelet.network import Place
from devcluster.kubelet.objects import Object
from devcluster.kubelet.volumes import Volumes
from devcluster.tether import tethered

__all__ = ["Container", "Plan", "only_container", "plan_of"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the launcher is told."""

    argv: list[str]
    environment: dict[str, str]
    namespace: str
    hostname: str
    root: str
    """An empty folder, which the container's root is mounted on."""
    links: dict[str, str]
    """Symbolic links by their place."""
    binds: list[tuple[str, str]]
    """Folders, and their places, in the order in which they are mounted."""
    read_only: bool
    user: int | None
    group: int


def only_container(pod: Object) -> Mapping[str, Any]:
    """Return the container of the pod; raises PodError where it has others too, or isn't to run for ever."""
    spec = pod["spec"]
    if spec.get("restartPolicy", "Always") != "Always":
        raise PodError("the process kubelet runs pods with restartPolicy Always")
    if len(spec["containers"]) != 1 or spec.get("initContainers"):
        raise PodError("the process kubelet runs pods of one container, without init containers")
    container: Mapping[str, Any] = spec["containers"][0]
    return container


def plan_of(
    pod: Object, *, image: Image, volumes: Volumes, place: Place, root: Path, api_server: tuple[str, int]
) -> Plan:
    """Return how to run the container of the pod; raises PodError for what we can't give it."""
    container = only_container(pod)
    variables = environment(pod, container, image=image.variables, api_server=api_server)
    command = container.get("command") or list(image.entrypoint)
    security = {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})}
    if security.get("runAsNonRoot") and not security.get("runAsUser"):
        raise PodError("runAsNonRoot without runAsUser: the process kubelet's image runs as root")
    mounts = [_mount(each, image, volumes) for each in container.get("volumeMounts", [])]
    return Plan(
        argv=[expanded(word, variables) for word in (*command, *container.get("args", []))],
        environment=variables,
        namespace=str(place.namespace),
        hostname=pod["metadata"]["name"],
        root=str(root),
        links={str(path): target for path, target in image.links.items()},
        # The image last: a checkout in /tmp is to be seen although the pod has a volume there.
        binds=[*mounts, *((str(each), str(each)) for each in image.folders)],
        read_only=bool(security.get("readOnlyRootFilesystem")),
        user=security.get("runAsUser"),
        group=security.get("runAsGroup") or 0,
    )


def _mount(mount: Mapping[str, Any], image: Image, volumes: Volumes) -> tuple[str, str]:
    path = Path(mount["mountPath"])
    if "subPath" in mount or "subPathExpr" in mount:
        raise PodError(f"volumeMount {mount['name']}: the process kubelet has no subPath")
    # The folders of the image are this machine's own: nothing may be made in them.
    if any(path.is_relative_to(folder) for folder in image.folders):
        raise PodError(f"volumeMount {mount['name']}: {path} is in a folder that the image brings")
    return str(volumes.path(mount["name"])), str(path)


class Container:
    """A container that runs, started at once; it ends with the thread that started it. `on_end` is called when it ends."""

    def __init__(self, plan: Plan, *, log: Path, on_end: Callable[[], None]) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                tethered(
                    [sys.executable, "-I", "-S", launcher.__file__, json.dumps(msgspec.to_builtins(plan))]
                ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # what a terminal sends to our group is not meant for it
            )
        self._on_end = on_end
        self._ended = threading.Event()
        self._waiter = threading.Thread(target=self._wait, name="container")
        self._waiter.start()

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._ended.is_set()

    @property
    def exit_code(self) -> int:
        """How it ended, as a container runtime tells it: 128 and the number of the signal, if it was one."""
        code = self._process.returncode
        return code if code >= 0 else 128 - code

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, with all of its processes."""
        self._process.kill()

    def join(self) -> None:
        """Return when it has ended."""
        self._waiter.join()

    def _wait(self) -> None:
        self._process.wait()
        self._ended.set()
        self._on_end()
