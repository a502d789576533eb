"""From where the installed webhook has its certificate, as its Deployment says."""

from __future__ import annotations

import msgspec

from webhook.errors import ApiError
from webhook.kube.transport import KubeClient
from webhook.policy.names import SERVICE

__all__ = ["serves_files"]

_OPTIONS = ("--cert-mode=files", "--tls-cert")


class _Container(msgspec.Struct, frozen=True):
    args: list[str] | None = None


class _PodSpec(msgspec.Struct, frozen=True):
    containers: list[_Container] | None = None


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class _Spec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _Deployment(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def serves_files(client: KubeClient, namespace: str) -> bool:
    """Tell whether the webhook's pods are told to serve certificates from files; raises ClusterError.

    Where there is no Deployment, as in development, it is taken to sign its own.
    """
    try:
        raw = client.request("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{SERVICE}")
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    pod = msgspec.json.decode(raw, type=_Deployment).spec.template.spec
    return any(
        argument.startswith(_OPTIONS)
        for container in pod.containers or ()
        for argument in container.args or ()
    )
