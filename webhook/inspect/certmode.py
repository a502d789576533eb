"""From where the installed webhook has its certificate, as its Deployment says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from webhook.errors import ApiError
from webhook.kube.transport import KubeClient
from webhook.policy.names import SERVICE

__all__ = ["ServedFiles", "served_files", "serves_files"]

_MODE, _CERTIFICATE = "--cert-mode", "--tls-cert"
# What click calls them: the program, the command, the option.
_VARIABLES = {"CUSTOM_SCHEDULER_SERVE_CERT_MODE": _MODE, "CUSTOM_SCHEDULER_SERVE_TLS_CERT": _CERTIFICATE}


class ServedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The Secret of the same namespace, and the key in it, that the certificate's file is mounted from.

    Both are None where the file comes from elsewhere, or the Deployment doesn't say where it lies.
    """

    secret: str | None = None
    key: str | None = None


class _Variable(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    value: str = ""
    value_from: dict[str, object] | None = None


class _Mount(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    mount_path: str
    sub_path: str = ""


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    volume_mounts: list[_Mount] | None = None


class _Item(msgspec.Struct, frozen=True):
    key: str
    path: str


class _Secret(msgspec.Struct, frozen=True, rename="camel"):
    secret_name: str = ""  # in a volume
    name: str = ""  # in a source of a projected one
    items: list[_Item] | None = None


class _Source(msgspec.Struct, frozen=True):
    secret: _Secret | None = None


class _Projected(msgspec.Struct, frozen=True):
    sources: list[_Source] | None = None


class _Volume(msgspec.Struct, frozen=True):
    name: str
    secret: _Secret | None = None
    projected: _Projected | None = None

    def secrets(self) -> Iterator[_Secret]:
        """Yield the Secrets whose keys are files in it."""
        sources = (self.projected.sources if self.projected else None) or ()
        yield from filter(None, (self.secret, *(source.secret for source in sources)))


class _PodSpec(msgspec.Struct, frozen=True):
    containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class _Spec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _Deployment(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def serves_files(client: KubeClient, namespace: str) -> bool:
    """Tell whether the webhook's pods are told to serve certificates from files; raises ClusterError."""
    return served_files(client, namespace) is not None


def served_files(client: KubeClient, namespace: str) -> ServedFiles | None:
    """Return where the files come from that the webhook's pods are told to serve, or None; raises ClusterError.

    Where there is no Deployment, as in development, it is taken to sign its own. What a container has from `envFrom`
    isn't looked at.
    """
    try:
        raw = client.request("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{SERVICE}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    pod = msgspec.json.decode(raw, type=_Deployment).spec.template.spec
    for container in pod.containers or ():
        told = _from_environment(container) | _from_command_line(container)
        if _CERTIFICATE in told or told.get(_MODE) == "files":
            return _mounted(told.get(_CERTIFICATE, ""), container, pod)
    return None


def _from_environment(container: _Container) -> dict[str, str]:
    # An empty variable is none to click. What one gets from elsewhere is not known here, but that it is there.
    return {
        _VARIABLES[each.name]: each.value
        for each in container.env or ()
        if each.name in _VARIABLES and (each.value or each.value_from is not None)
    }


def _from_command_line(container: _Container) -> dict[str, str]:
    told: dict[str, str] = {}
    words = [*(container.command or ()), *(container.args or ())]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option in (_MODE, _CERTIFICATE):
            told[option] = value if equals else following
    return told


def _mounted(file: str, container: _Container, pod: _PodSpec) -> ServedFiles:
    path = PurePosixPath(file)
    around = [each for each in container.volume_mounts or () if path.is_relative_to(each.mount_path)]
    if not around:
        return ServedFiles()
    mount = max(around, key=lambda each: len(PurePosixPath(each.mount_path).parts))
    inside = str(PurePosixPath(mount.sub_path) / path.relative_to(mount.mount_path))
    for volume in pod.volumes or ():
        if volume.name != mount.name:
            continue
        for secret in volume.secrets():
            keys = {each.path: each.key for each in secret.items or ()} or {inside: inside}
            if inside in keys:
                return ServedFiles(secret=secret.secret_name or secret.name, key=keys[inside])
    return ServedFiles()
