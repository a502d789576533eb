"""What the volumes of a pod hold: ConfigMaps, Secrets, the projected token, and empty folders."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from devcluster.errors import PodError
from devcluster.kubelet.atomic import AtomicFolder
from devcluster.kubelet.environment import field_value
from devcluster.kubelet.objects import Object

__all__ = ["Configs", "Volumes", "content_of"]

_DEFAULT_MODE = 0o644

Content = dict[str, bytes]


class Configs(Protocol):
    """Where the content of volumes comes from."""

    def config_map(self, namespace: str, name: str) -> Object | None:
        """Return a ConfigMap, or None if there is none."""

    def secret(self, namespace: str, name: str) -> Object | None:
        """Return a Secret, or None if there is none."""

    def token(self, pod: Object, source: Mapping[str, Any]) -> bytes:
        """Return a token of the pod's ServiceAccount, as the projected volume's source asks for it."""


class Volumes:
    """The folders of one pod's volumes, below `folder`."""

    def __init__(self, folder: Path, configs: Configs) -> None:
        self._folder = folder
        self._configs = configs
        self._folders: dict[str, AtomicFolder] = {}
        self._tokens: dict[str, bytes] = {}

    def path(self, name: str) -> Path:
        """Return the folder of the volume `name`."""
        return self._folder / name

    def write(self, pod: Object) -> None:
        """Bring all volumes in line with what the cluster holds now.

        Raises PodError for one that can't be had: then those before it may have been written.
        """
        for volume in pod["spec"].get("volumes", []):
            name = volume["name"]
            if "emptyDir" in volume:
                self._make_empty(name)
                continue
            content = content_of(volume, pod, self._configs, token=self._token_of(name, pod))
            folder = self._folders.get(name) or AtomicFolder(self.path(name))
            self._folders[name] = folder
            folder.write(content, mode=_mode_of(volume))

    def _token_of(self, volume: str, pod: Object) -> Callable[[Mapping[str, Any]], bytes]:
        def token(source: Mapping[str, Any]) -> bytes:
            # One for the pod's life, which is shorter here than the hour after which a real kubelet renews it.
            if volume not in self._tokens:
                self._tokens[volume] = self._configs.token(pod, source)
            return self._tokens[volume]

        return token

    def _make_empty(self, name: str) -> None:
        path = self.path(name)
        if not path.exists():
            path.mkdir(parents=True)
            path.chmod(0o777)  # as k8s.io/kubernetes pkg/volume/emptydir makes it


def content_of(
    volume: Mapping[str, Any], pod: Object, configs: Configs, *, token: Callable[[Mapping[str, Any]], bytes]
) -> Content:
    """Return the files of a volume or of a source of a projected one; raises PodError."""
    namespace = pod["metadata"]["namespace"]
    match volume:
        case {"configMap": source}:
            return _picked(
                configs.config_map(namespace, source["name"]), source, f"ConfigMap {source['name']}"
            )
        case {"secret": source}:
            name = source.get("secretName") or source["name"]  # in a volume, and in a projection
            return _picked(configs.secret(namespace, name), source, f"Secret {name}")
        case {"downwardAPI": source}:
            return {
                each["path"]: field_value(pod, each["fieldRef"]["fieldPath"]).encode()
                for each in source["items"]
            }
        case {"serviceAccountToken": source}:
            return {source["path"]: token(source)}
        case {"projected": projected}:
            merged: Content = {}
            for source in projected["sources"]:
                merged |= content_of(source, pod, configs, token=token)
            return merged
        case _:
            kinds = ", ".join(key for key in volume if key != "name")
            raise PodError(f"volume {volume.get('name', '')}: the process kubelet has no {kinds}")


def _picked(found: Object | None, source: Mapping[str, Any], label: str) -> Content:
    if found is None:
        if source.get("optional"):
            return {}
        raise PodError(f"{label} not found")
    data = _data_of(found)
    if not source.get("items"):
        return data
    lacking = [item["key"] for item in source["items"] if item["key"] not in data]
    if lacking and not source.get("optional"):
        raise PodError(f"{label} has no key {', '.join(lacking)}")
    return {item["path"]: data[item["key"]] for item in source["items"] if item["key"] in data}


def _data_of(found: Object) -> Content:
    data = found.get("data") or {}
    if found.get("kind") == "Secret":
        return {key: base64.b64decode(value) for key, value in data.items()}
    binary = found.get("binaryData") or {}
    return {key: value.encode() for key, value in data.items()} | {
        key: base64.b64decode(value) for key, value in binary.items()
    }


def _mode_of(volume: Mapping[str, Any]) -> int:
    for source in volume.values():
        if isinstance(source, Mapping) and "defaultMode" in source:
            return int(source["defaultMode"])
    return _DEFAULT_MODE
