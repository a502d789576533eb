"""Pods as the API gives them, for tests of the kubelet's parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devcluster.kubelet.image import Image
from devcluster.kubelet.network import Place
from devcluster.kubelet.objects import Object

IMAGE = Image(folders=(Path("/usr"),), entrypoint=("program", "run"), variables={"PATH": "/usr/bin"})
PLACE = Place(address="10.42.1.2", namespace=Path("/run/netns/pod-1"))
API_SERVER = ("10.96.0.1", 6443)


def pod(*, container: dict[str, Any] | None = None, **spec: Any) -> Object:
    """Return a pod of one container, with the given keys of its spec and its container."""
    return {
        "metadata": {"name": "web-1", "namespace": "team", "uid": "u-1"},
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "web",
            "containers": [{"name": "web", "image": "web:1", **(container or {})}],
            **spec,
        },
        "status": {"podIP": "10.42.1.2"},
    }
