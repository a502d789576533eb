"""Which host ports are taken on which node.

Two ports clash when protocol and number are equal and so are the addresses, or one of them is 0.0.0.0.
Source: HostPortInfo in k8s.io/kube-scheduler/framework/types.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from webhook.scheduling.objects import Pod

__all__ = ["HostPort", "HostPorts", "host_ports"]

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104 (compared with, never bound)


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port that a pod takes on its node."""

    protocol: str
    port: int
    address: str


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports of what runs all the pod's life: its containers and its sidecars."""
    sidecars = (container for container in pod.spec.init_containers if container.is_sidecar)
    return tuple(
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or _ANY_ADDRESS)
        for container in (*sidecars, *pod.containers)
        for port in container.ports
        if port.host_port > 0
    )


class HostPorts:
    """The ports in use, by node name."""

    def __init__(self) -> None:
        self._in_use: dict[tuple[str, int], dict[str, Counter[str]]] = {}

    def take(self, node_name: str, ports: Iterable[HostPort]) -> None:
        """Count the ports of a pod that now is on the node."""
        for port in ports:
            nodes = self._in_use.setdefault((port.protocol, port.port), {})
            nodes.setdefault(node_name, Counter())[port.address] += 1

    def give_back(self, node_name: str, ports: Iterable[HostPort]) -> None:
        """Take back what `take` counted."""
        for port in ports:
            nodes = self._in_use[port.protocol, port.port]
            addresses = nodes[node_name]
            addresses[port.address] -= 1
            if not addresses[port.address]:
                del addresses[port.address]
            if not addresses:
                del nodes[node_name]
            if not nodes:
                del self._in_use[port.protocol, port.port]

    def clashes(self, wanted: Iterable[HostPort]) -> set[str]:
        """Return the names of the nodes on which one of the wanted ports is taken."""
        return {
            node_name
            for port in wanted
            for node_name, addresses in self._in_use.get((port.protocol, port.port), {}).items()
            if port.address == _ANY_ADDRESS or port.address in addresses or _ANY_ADDRESS in addresses
        }
