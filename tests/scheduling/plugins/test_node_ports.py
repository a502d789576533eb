from __future__ import annotations

from typing import Any

import pytest

from webhook.scheduling.objects import Pod
from webhook.scheduling.plugins.node_ports import NodePorts
from webhook.scheduling.ports import HostPorts, host_ports
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_filter


def holding(name: str, *ports: dict[str, Any], node: str = "", kind: str = "containers", **more: str) -> Pod:
    container = {"name": "main", "ports": list(ports), **more}
    return make_pod(name, node=node, spec={"containers": [], kind: [container]})


def port(number: int, ip: str = "", protocol: str = "TCP") -> dict[str, Any]:
    return {"containerPort": 1, "hostPort": number, "hostIP": ip, "protocol": protocol}


@pytest.mark.parametrize(
    ("taken", "wanted", "clash"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80), port(80, protocol="UDP"), False),
        (port(80, "127.0.0.1"), port(80, "10.0.0.1"), False),
        (port(80, "127.0.0.1"), port(80, "127.0.0.1"), True),
        (port(80, "127.0.0.1"), port(80), True),
        (port(80), port(80, "127.0.0.1"), True),
        (port(80, "0.0.0.0"), port(80, "127.0.0.1"), True),  # noqa: S104 (a manifest's)
        (port(0), port(0), False),
    ],
)
def test_ports_clash_by_protocol_number_and_address(
    taken: dict[str, Any], wanted: dict[str, Any], clash: bool
) -> None:
    cache = make_cache(make_node("n"), make_node("free"), pods=[holding("old", taken, node="n")])

    rejected = run_filter(NodePorts(), holding("new", wanted), cache)

    reason = "node(s) didn't have free ports for the requested pod ports"
    assert rejected == ({"n": [reason]} if clash else {})


def test_a_sidecars_port_counts_and_an_init_containers_does_not() -> None:
    sidecar = holding("s", port(80), kind="initContainers", restartPolicy="Always")
    init = holding("i", port(80), kind="initContainers")

    assert [each.port for each in host_ports(sidecar)] == [80]
    assert host_ports(init) == ()


def test_a_port_is_free_again_when_the_last_that_holds_it_goes() -> None:
    ports = HostPorts()
    wanted = host_ports(holding("p", port(80)))
    ports.take("n", wanted)
    ports.take("n", wanted)

    ports.give_back("n", wanted)
    still = ports.clashes(wanted)
    ports.give_back("n", wanted)

    assert still == {"n"}
    assert ports.clashes(wanted) == set()
