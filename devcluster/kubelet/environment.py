"""The environment variables of a container, and what of the pod can be told in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from devcluster.errors import PodError
from devcluster.kubelet.objects import Object

__all__ = ["environment", "expanded", "field_value"]

# k8s.io/kubernetes third_party/forked/golang/expansion: $(NAME), and $$ for a dollar
_REFERENCE = re.compile(r"\$(?:\$|\(([A-Za-z_.-][\w.-]*)\))")


def field_value(pod: Object, path: str) -> str:
    """Return the field of the pod that a fieldRef names; raises PodError for one that we don't know."""
    fields = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
        "status.podIP": pod.get("status", {}).get("podIP", ""),
    }
    if path not in fields:
        raise PodError(f"fieldRef {path}: the process kubelet knows {', '.join(fields)}")
    return str(fields[path])


def environment(
    pod: Object, container: Mapping[str, Any], *, image: Mapping[str, str], api_server: tuple[str, int]
) -> dict[str, str]:
    """Return the variables of the container: the image's, the cluster's, its own, later ones first.

    Service links are left out: our pods set enableServiceLinks to false. Raises PodError.
    """
    host, port = api_server
    variables = {
        **image,
        "HOSTNAME": pod["metadata"]["name"],
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
    }
    for variable in container.get("env", []):
        variables[variable["name"]] = _value(pod, variable, variables)
    return variables


def _value(pod: Object, variable: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    match variable.get("valueFrom"):
        case None:
            return expanded(variable.get("value", ""), variables)
        case {"fieldRef": reference}:
            return field_value(pod, reference["fieldPath"])
        case other:
            raise PodError(f"env {variable['name']}: the process kubelet has no {', '.join(other)}")


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with each $(NAME) that is known replaced; the others stay as they are."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else variables.get(found[1], found[0])

    return _REFERENCE.sub(value, text)
