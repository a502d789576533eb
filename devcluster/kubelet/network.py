"""The network of pods: a namespace for each, joined to the host's by a pair of devices and two routes."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.sandbox import HOST_ADDRESS

__all__ = ["Network", "Place"]

_NAMESPACES = Path("/run/netns")
_HOSTS_A_NET = 250


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one pod is."""

    address: str
    namespace: Path
    """The file that setns(2) takes."""


class Network:
    """Gives each pod a place that nobody had before, so that what still calls an address of the past meets nobody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given = 0

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Make the namespace of a pod, and remove it at the end."""
        number = self._next()
        name = f"pod-{number}"
        subnet, host = divmod(number, _HOSTS_A_NET)
        address = f"10.42.{subnet + 1}.{host + 1}"
        _ip("netns", "add", name)
        try:
            _join(name, address)
            yield Place(address=address, namespace=_NAMESPACES / name)
        finally:
            _ip("netns", "delete", name)  # and the devices with it

    def _next(self) -> int:
        with self._lock:
            self._given += 1
            return self._given


def _join(name: str, address: str) -> None:
    # No bridge and no subnet: a route to the one address, and in there one to the host and through it to all else.
    _batch(
        [],
        f"link add name {name} type veth peer name eth0 netns {name}",
        f"link set dev {name} up",
        f"route add {address}/32 dev {name} src {HOST_ADDRESS}",
    )
    _batch(
        ["-netns", name],
        "link set dev lo up",
        f"address add {address}/32 dev eth0",
        "link set dev eth0 up",
        f"route add {HOST_ADDRESS} dev eth0",
        f"route add default via {HOST_ADDRESS} dev eth0",
    )


def _batch(options: list[str], *commands: str) -> None:
    subprocess.run(["ip", *options, "-batch", "-"], input="\n".join(commands), text=True, check=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
